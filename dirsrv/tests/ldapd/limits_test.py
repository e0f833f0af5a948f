#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Limits of ldapd, and clients that misbehave: in each form of the listener.

usage: limits_test.py LDAPD
"""
import multiprocessing
import os
import resource
import socket
import struct
import sys
import time

import ldap

import server
from server import (NOTICE, PASSWORD, ROOT, SUFFIX, Server, answers, client, connect, element, enumerated, message,
                    monitored, number, person, read_messages, read_to_end, search, split, text, try_answer, until)

FORMS = ["inline", "handoff", "accept-thread", "multi"]
PROCESSES = 6
ROUNDS = 99999999  # of SHA-512: more than a minute
# More than sockets take.
MUCH = server.LDIF + "".join(person(i, 4000) for i in range(2000))


# --- clients that misbehave ---------------------------------------------------------------------

def a_message_in_single_bytes_is_read(program, form):
    with Server(program, "--listener", form) as running:
        with connect(running) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in search(1, attributes=["+", "x" * 300]):
                stream.sendall(bytes([byte]))
            assert len(read_messages(stream, 2)) == 2


def pipelined_messages_are_all_answered(program, form):
    """More than the server reads at once."""
    with Server(program, "--listener", form, "--maxConnectionOperations", "1000") as running:
        with connect(running) as stream:
            stream.sendall(b"".join(search(i) for i in range(1, 501)))
            messages = read_messages(stream, 1000)
            done = [m for m in messages if b"\x65\x07\x0a\x01\x00" in m]
            assert len(done) == 500, len(done)


def a_slow_request_is_disconnected(program, form):
    with Server(program, "--listener", form, "--requestSeconds", "1") as running:
        with connect(running) as stream, connect(running) as idle:
            stream.sendall(search(1)[:5])
            assert NOTICE in read_to_end(stream)
            idle.sendall(search(1))
            assert len(read_messages(idle, 2)) == 2


def an_idle_client_is_disconnected(program, form):
    with Server(program, "--listener", form, "--idleSeconds", "1") as running:
        with connect(running) as stream:
            assert NOTICE in read_to_end(stream)


def a_large_message_is_refused_before_it_arrives(program, form):
    with Server(program, "--listener", form, "--maxPduBytes", "100000") as running:
        with connect(running) as stream:
            stream.sendall(b"\x30\x84" + struct.pack(">I", 100000))
            assert NOTICE in read_to_end(stream)
        assert answers(running)


def an_announced_message_costs_no_memory(program, form):
    with Server(program, "--listener", form, "--maxPduBytes", "64M") as running:
        watcher = client(running)
        before = monitored(watcher, "largeBytes", "cn=memory,cn=monitor")
        streams = [connect(running) for _ in range(20)]
        for stream in streams:
            stream.sendall(b"\x30\x84" + struct.pack(">I", 60 << 20) + b"\x02\x01")
        until(lambda: monitored(watcher, "bytesIn") > 20 * 8, "the bytes arrived")
        after = monitored(watcher, "largeBytes", "cn=memory,cn=monitor")
        assert after - before < 1 << 20, after - before
        for stream in streams:
            stream.close()


def garbage_is_disconnected(program, form):
    with Server(program, "--listener", form) as running:
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\x30\x00", b"\x30\x03\x02\x01\x01",
                        b"\x30\x05\x02\x01\x01\x7f\x00", b"\x30\x80", b"\x30\x85\0\0\0\0\1",
                        b"\x30\x84\xff\xff\xff\xff"):
            with connect(running) as stream:
                stream.sendall(garbage)
                assert NOTICE in read_to_end(stream), garbage
        assert answers(running)


def a_client_that_stops_sending_gets_its_answers(program, form):
    with Server(program, "--listener", form) as running:
        for _ in range(100):  # the end arrives with the messages, or while they are read
            with connect(running) as stream:
                stream.sendall(b"".join(search(i) for i in range(1, 11)))
                stream.shutdown(socket.SHUT_WR)
                data = read_to_end(stream)
                assert data.count(b"\x65\x07\x0a\x01\x00") == 10, data


def a_client_that_does_not_read_delays_nobody(program, form):
    with Server(program, "--listener", form, "--threads", "2", "--maxOutputBytes", "65536",
                ldif=MUCH) as running:
        watcher = client(running)
        stalled = []
        for _ in range(8):
            stream = connect(running)
            stream.sendall(search(1, SUFFIX, 2))
            stalled.append(stream)
        until(lambda: monitored(watcher, "parked") >= 8, "searches wait for their clients")
        for _ in range(20):
            assert answers(running)
        # A client that reads at last gets everything.
        data = 0
        while data < 2000 * 4000:
            more = stalled[0].recv(1 << 20)
            assert more
            data += len(more)
        for stream in stalled:
            stream.close()
        until(lambda: monitored(watcher, "operationsInFlight") == 1, "the others were abandoned")


def operations_that_take_long_delay_nobody(program, form):
    """Half as many of them as the server has threads."""
    slow = f"uid=slow,ou=people,{SUFFIX}"
    people = server.LDIF + f"dn: {slow}\nobjectClass: inetOrgPerson\nuid: slow\ncn: s\nsn: s\n" \
        f"userPassword: {{CRYPT}}$6$rounds={ROUNDS}$salt$x\n"
    with Server(program, "--listener", form, "--threads", "6", ldif=people) as running:
        streams = [connect(running) for _ in range(24)]
        for stream in streams:
            stream.sendall(search(1))
            read_messages(stream, 2)
        binding = streams[::8]
        for stream in binding:
            stream.sendall(bind(2, slow, b"wrong"))
        others = [stream for stream in streams if stream not in binding]
        for stream in others:
            stream.sendall(search(2))
            read_messages(stream, 2)
        watcher = client(running)
        assert monitored(watcher, "operationsInFlight") == 1 + len(binding)
        running.kill()


def a_client_that_does_not_read_is_disconnected(program, form):
    with Server(program, "--listener", form, "--maxOutputBytes", "65536", "--writeSeconds", "1",
                ldif=MUCH) as running:
        watcher = client(running)
        stream = connect(running)
        stream.sendall(search(1, SUFFIX, 2))
        until(lambda: monitored(watcher, "idleClosed") == 1, "the client is disconnected")
        stream.close()


# --- limits -----------------------------------------------------------------------------------------

def more_connections_than_allowed_are_refused(program, form):
    with Server(program, "--listener", form, "--maxConnections", "3") as running:
        streams = [connect(running) for _ in range(3)]
        for stream in streams:
            stream.sendall(search(1))
            read_messages(stream, 2)
        with connect(running) as refused:
            assert NOTICE in read_to_end(refused)
        streams.pop().close()
        until(lambda: try_answer(running), "a place is free again")
        for stream in streams:
            stream.close()


def thousands_of_idle_connections_cost_their_objects(program, form):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(10000, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Server(program, "--listener", form, "--maxConnections", str(count + 10)) as running:
        watcher = client(running)
        cache = "cn=ldapd.connection,cn=caches,cn=monitor"
        before = monitored(watcher, "slabBytes", "cn=memory,cn=monitor")
        streams = [connect(running) for _ in range(count)]
        until(lambda: monitored(watcher, "connections") == count + 1, "all are accepted")
        assert monitored(watcher, "objects", cache) == count + 1
        grown = monitored(watcher, "slabBytes", "cn=memory,cn=monitor") - before
        # The objects have 200 bytes.
        assert grown < count * 300, grown
        assert answers(running)
        for stream in streams:
            stream.close()


def without_descriptors_clients_are_refused(program, form):
    with Server(program, "--listener", form) as running:
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (48, 48))
        # Many at once: the threads of the server accept at the same time.
        streams = [socket.socket() for _ in range(200)]
        for stream in streams:
            stream.setblocking(False)
            stream.connect_ex(("127.0.0.1", running.port))
        # Each of them is either served or refused.
        served = 0
        for stream in streams:
            stream.settimeout(60)
            try:
                stream.sendall(search(1))
                served += NOTICE not in stream.recv(1000)
            except ConnectionError:
                pass
        assert 0 < served < 48, served
        for stream in streams:
            stream.close()
        until(lambda: try_answer(running), "a place is free again")


def more_operations_than_allowed_are_busy(program, form):
    with Server(program, "--listener", form, "--maxConnectionOperations", "1",
                "--maxOutputBytes", "65536", ldif=MUCH) as running:
        watcher = client(running)
        stream = connect(running)
        stream.sendall(search(1, SUFFIX, 2))
        until(lambda: monitored(watcher, "parked") >= 1, "the search waits")
        missing = {message(i, element(0x65, enumerated(51) + text("") + text("the connection has its most operations")))
                   for i in (2, 127, 128, 32767, 32768, 0x7fffffff)}
        for i in (2, 127, 128, 32767, 32768, 0x7fffffff):
            stream.sendall(search(i))
        until(lambda: monitored(watcher, "busy") == 6, "further operations are refused")
        rest = b""
        while missing:
            whole, rest = split(rest + stream.recv(1 << 20))
            missing -= set(whole)
        stream.close()


def a_size_limit_gives_that_many_entries(program, form):
    people = server.LDIF + "".join(person(i) for i in range(20))
    with Server(program, "--listener", form, ldif=people) as running:
        connection = client(running)
        pending = connection.search_ext(SUFFIX, ldap.SCOPE_SUBTREE, sizelimit=23)
        assert len(connection.result(pending)[1]) == 23
        pending = connection.search_ext(SUFFIX, ldap.SCOPE_SUBTREE, sizelimit=22)
        try:
            connection.result(pending)
            raise AssertionError("no limit")
        except ldap.SIZELIMIT_EXCEEDED:
            pass


# --- abandon, stop --------------------------------------------------------------------------------

def a_search_can_be_abandoned(program, form):
    with Server(program, "--listener", form, "--maxOutputBytes", "65536", ldif=MUCH) as running:
        watcher = client(running)
        stream = connect(running)
        stream.sendall(search(1, SUFFIX, 2))
        until(lambda: monitored(watcher, "parked") >= 1, "the search waits")
        stream.sendall(element(0x30, number(3) + element(0x50, b"\x01")))
        until(lambda: monitored(watcher, "operationsInFlight") == 1, "it is over")
        stream.close()


def bind(message_id, dn, password):
    return message(message_id, element(0x60, number(3) + text(dn) + element(0x80, password)))


def a_stop_disconnects_clients_with_a_notice(program, form):
    with Server(program, "--listener", form) as running:
        stream = connect(running)
        stream.sendall(search(1))
        read_messages(stream, 2)
        running.process.terminate()
        assert NOTICE in read_to_end(stream)
        stream.close()


def client_again(running, before):
    """A new connection if the server takes one."""
    try:
        return client(running)
    except ldap.LDAPError:
        return before


def a_server_without_memory_stays_and_answers(program, form):
    people = server.LDIF + "".join(person(i, 500) for i in range(50))
    with Server(program, "--listener", form, "--memoryLimit", "12M", "--cacheBytes", "64K",
                "--maxPduBytes", "64M", ldif=people) as running:
        watcher = client(running)
        # Messages that are kept until they are complete fill the memory.
        hogs = {}
        for _ in range(20):
            stream = connect(running)
            stream.setblocking(False)
            hogs[stream] = b"\x30\x84" + struct.pack(">I", 50 << 20) + bytes(2 << 20)
        answers_of = {"success": 0, "refused": 0, "lost": 0}
        for _ in range(300):
            for stream in hogs:
                try:
                    hogs[stream] = hogs[stream][stream.send(hogs[stream]):]
                except (BlockingIOError, ConnectionError):
                    pass
            try:
                watcher.search_s(SUFFIX, ldap.SCOPE_SUBTREE)
                answers_of["success"] += 1
            except (ldap.BUSY, ldap.UNAVAILABLE):
                answers_of["refused"] += 1
            except ldap.SERVER_DOWN:
                # Entries that the socket did not take had no memory to wait in.
                answers_of["lost"] += 1
                watcher = client_again(running, watcher)
        for stream in hogs:
            stream.close()
        until(lambda: try_answer(running), "the server serves again")
        assert len(client(running).search_s(SUFFIX, ldap.SCOPE_SUBTREE)) == 53
        assert answers_of["success"], answers_of


def failed_allocations_are_answered(program, form):
    """With failures injected into the caches that requests come from."""
    failing = "probability=20,cache=ldapd.operation,cache=ldapd.filter*," \
              "cache=slapi_pblock*"
    os.environ["SLAB_FAIL"] = failing
    try:
        running = Server(program, "--listener", form)
    finally:
        del os.environ["SLAB_FAIL"]
    with running:
        codes = {"success": 0, "refused": 0}
        connection = client(running)
        for number in range(500):
            try:
                connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(|(uid=ann)(cn=*{number}*))")
                codes["success"] += 1
            except (ldap.BUSY, ldap.UNAVAILABLE, ldap.OTHER):
                codes["refused"] += 1
        assert codes["success"] > 50 and codes["refused"] > 50, codes


TESTS = [
    a_message_in_single_bytes_is_read,
    pipelined_messages_are_all_answered,
    a_slow_request_is_disconnected,
    an_idle_client_is_disconnected,
    a_large_message_is_refused_before_it_arrives,
    an_announced_message_costs_no_memory,
    garbage_is_disconnected,
    a_client_that_stops_sending_gets_its_answers,
    a_client_that_does_not_read_delays_nobody,
    operations_that_take_long_delay_nobody,
    a_client_that_does_not_read_is_disconnected,
    more_connections_than_allowed_are_refused,
    thousands_of_idle_connections_cost_their_objects,
    without_descriptors_clients_are_refused,
    more_operations_than_allowed_are_busy,
    a_size_limit_gives_that_many_entries,
    a_search_can_be_abandoned,
    a_stop_disconnects_clients_with_a_notice,
    a_server_without_memory_stays_and_answers,
    failed_allocations_are_answered,
]


def run(test, program, form):
    """What has failed, or None."""
    try:
        test(program, form)
    except Exception as error:  # pylint: disable=broad-except
        return f"FAILED {form}: {test.__name__}: {type(error).__name__}: {error}"
    return None


def main():
    program, chosen = sys.argv[1], sys.argv[2:]
    cases = [(test, program, form) for test in TESTS for form in FORMS
             if not chosen or test.__name__ in chosen or form in chosen]
    # Many of them wait for time limits of the server.
    with multiprocessing.Pool(PROCESSES) as pool:
        failures = [said for said in pool.starmap(run, cases, chunksize=1) if said]
    print(*failures, sep="\n", end="\n" if failures else "")
    sys.exit(1 if failures else 0)


main()
