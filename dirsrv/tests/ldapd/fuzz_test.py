# SPDX-License-Identifier: MIT
"""Malformed requests, sent to a running ldapd in each form of the listener.

usage: fuzz_test.py LDAPD CORPUS [SECONDS [SEED]]
Rounds of at most 20 seconds, each with a fresh server. Meanwhile another client is answered; after
a round the memory of requests has returned, and the server ends without a report.
"""
import random
import select
import socket
import struct
import sys
import time
from pathlib import Path

import ldap

from server import PASSWORD, ROOT, Server, element, message, number, text, until

FORMS = ["inline", "handoff", "accept-thread", "multi"]
ROUND_SECONDS = 20
BIND = message(1, element(0x60, number(3) + text(ROOT) + element(0x80, PASSWORD.encode())))
HALF_OPEN_MAX = 50
# What the caches of entries keep.
ENTRY_CACHE = "1M"
LARGE_BYTES_MAX = 4 << 20


class Messages:
    """The fuzzer's corpus of messages, most of them changed at random."""

    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.corpus = [path.read_bytes() for path in sorted(Path(folder).iterdir())]

    def take(self):
        data = bytearray(self.random.choice(self.corpus))
        for _ in range(self.random.choice([0, 1, 1, 2, 4])):
            at = self.random.randrange(len(data) or 1)
            kind = self.random.randrange(4)
            if kind == 0:
                data[at:at + 1] = bytes([self.random.randrange(256)])
            elif kind == 1:
                del data[at:at + self.random.randrange(1, 9)]
            elif kind == 2:
                data[at:at] = data[at:at + self.random.randrange(1, 65)] * self.random.randrange(1, 9)
            else:
                data[at:at] = self.random.randbytes(self.random.randrange(1, 9))
        return bytes(data) or b"\x30"


class Fuzzer:
    """Connections to a server, one after another."""

    def __init__(self, port, messages, choice):
        self.port, self.messages, self.choice = port, messages, choice
        self.half_open = []

    def exchange(self, stream, data):
        """Send data, and read what arrives meanwhile; False: the server has disconnected."""
        while data:
            readable, writable, _ = select.select([stream], [stream], [], 60)
            assert readable or writable, "the server does not take bytes"
            if readable and not stream.recv(1 << 16):
                return False
            if writable:
                data = data[stream.send(data):]
        return True

    def pieces(self):
        """One to five messages, whole or cut at random places."""
        count = self.choice.choice([1, 1, 1, 2, 5])
        data = b"".join(self.messages.take() for _ in range(count))
        if self.choice.random() < 0.8:
            return [data]
        cuts = sorted(self.choice.randrange(len(data)) for _ in range(4))
        return [data[a:b] for a, b in zip([0] + cuts, cuts + [len(data)])]

    def end(self, stream):
        """Close the connection, in the ways in which clients do."""
        kind = self.choice.randrange(4)
        if kind == 0:
            self.half_open.append(stream)
            while len(self.half_open) > HALF_OPEN_MAX:
                self.half_open.pop(0).close()
            return
        if kind == 1:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif kind == 2:
            stream.shutdown(socket.SHUT_WR)
        stream.close()

    def connection(self):
        stream = socket.create_connection(("127.0.0.1", self.port), 60)
        stream.setblocking(False)
        try:
            good = self.choice.random() < 0.2 or self.exchange(stream, BIND)
            for _ in range(self.choice.randrange(1, 40)):
                for piece in self.pieces():
                    good = good and self.exchange(stream, piece)
                if not good:
                    break
            self.end(stream)
        except OSError:  # the server has disconnected
            stream.close()


def objects(watcher):
    """The objects of the caches that requests and connections come from."""
    found = watcher.search_s("cn=caches,cn=monitor", ldap.SCOPE_SUBTREE, "(objects=*)",
                             ["cn", "objects"])
    counts = {entry["cn"][0].decode(): int(entry["objects"][0]) for _, entry in found}
    return {name: count for name, count in counts.items()
            if name.startswith("pblock") or
            name.startswith("ldapd.") and name[6:] in
            ("connection", "operation", "request", "filter", "filter_part", "refusal")}


def monitored(watcher, dn, name):
    _, entry = watcher.search_s(dn, ldap.SCOPE_BASE, attrlist=[name])[0]
    return int(entry[name][0])


def fuzz(program, corpus, form, seconds, seed):
    """One round. Returns the number of messages that the server has read."""
    messages = Messages(corpus, seed)
    with Server(program, "--listener", form, "--cacheBytes", ENTRY_CACHE) as running:
        watcher = ldap.initialize(running.uri)
        watcher.set_option(ldap.OPT_TIMEOUT, 60)
        before = objects(watcher)
        fuzzer = Fuzzer(running.port, messages, random.Random(seed))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            fuzzer.connection()
            assert running.process.poll() is None, "the server has ended"
            assert watcher.search_s("", ldap.SCOPE_BASE)
        for stream in fuzzer.half_open:
            stream.close()
        until(lambda: objects(watcher) == before, "the objects of requests return")
        until(lambda: monitored(watcher, "cn=memory,cn=monitor", "largeBytes") < LARGE_BYTES_MAX,
              "large memory returns")
        done = monitored(watcher, "cn=server,cn=monitor", "pdus")
    return done


def main():
    program, corpus = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 6
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 3835
    end, done, rounds = time.monotonic() + seconds, 0, 0
    length = min(ROUND_SECONDS, seconds / len(FORMS))
    while rounds == 0 or time.monotonic() + length / 2 < end:
        form = FORMS[rounds % len(FORMS)]
        try:
            done += fuzz(program, corpus, form, length, seed + rounds)
        except Exception:
            print(f"seed {seed + rounds}, {form}: failed")
            raise
        rounds += 1
    print(f"{done} messages read in {rounds} rounds")


main()
