# SPDX-License-Identifier: MIT
"""ldapload against a server that misbehaves: what it counts, and what it sends.

usage: behaviour_test.py LDAPLOAD
"""
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../ldapd"))
# pylint: disable-next=wrong-import-position
from server import element, enumerated, message, message_end, run_tests, tests_of, text

UNBIND, COMPARED, EXTENDED = 0x42, 0x6f, 0x78
COMPARE_TRUE, UNAVAILABLE = 6, 52


class Peer:
    """One connection of the server."""

    def __init__(self, stream, number):
        self.stream, self.number, self.data = stream, number, b""

    def receive(self):
        """A whole message; empty at the end of the connection."""
        while not message_end(self.data):
            try:
                more = self.stream.recv(4096)
            except ConnectionError:
                more = b""
            if not more:
                return b""
            self.data += more
        end = message_end(self.data)
        first, self.data = self.data[:end], self.data[end:]
        return first

    def requests(self):
        """All of them, until an unbind or the end."""
        while (request := self.receive()) and request[5] != UNBIND:
            yield request

    def send(self, data):
        try:
            self.stream.sendall(data)
        except ConnectionError:
            pass


def answer(message_id, tag, code, words=""):
    return message(message_id, element(tag, enumerated(code) + text("") + text(words)))


def compare_true(request):
    """Small messages, numbers below 128."""
    return answer(request[4], COMPARED, COMPARE_TRUE)


def load(program, options, serve):
    """Exit status and output of compares on a server that calls serve(peer) in a thread for each connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        threads = []

        def converse(stream, number):
            with stream:
                serve(Peer(stream, number))

        def accept():
            for number in itertools.count():
                try:
                    stream, _ = listener.accept()
                except OSError:
                    return
                threads.append(threading.Thread(target=converse, args=(stream, number)))
                threads[-1].start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        uri = f"ldap://127.0.0.1:{listener.getsockname()[1]}"
        try:
            ran = subprocess.run([program, "-H", uri, "--mix", "compare", *options.split()], text=True, check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for thread in (acceptor, *threads):
                thread.join()
    return ran.returncode, ran.stdout


def expect(outcome, status, *parts):
    assert outcome[0] == status and all(part in outcome[1] for part in parts), outcome


def a_notice_of_disconnection_counts_with_its_code(program):
    def serve(peer):
        for _ in peer.requests():
            peer.send(answer(0, EXTENDED, UNAVAILABLE))

    expect(load(program, "-c 1 --operations 1", serve), 1, "unexpected: 1 compare: Server is unavailable (52)")


def a_closed_connection_is_opened_again(program):
    def serve(peer):
        for request in peer.requests():
            if peer.number == 0:
                return
            peer.send(compare_true(request))

    expect(load(program, "-c 1 --operations 2", serve), 1, "unexpected: 1 compare: connection lost (-1)",
           "compare            1 ")


def a_malformed_answer_ends_the_connection(program):
    long_text, long_number = bytearray(answer(1, COMPARED, COMPARE_TRUE)), bytearray(answer(1, COMPARED, COMPARE_TRUE))
    long_text[-1], long_number[3] = 0x7f, 9
    for malformed in (b"HTTP/1.1 400 Bad Request\r\n", b"x", b"\x30\x80", b"\x30\x85\1\1\1\1\1", long_text,
                      long_number):
        def serve(peer, malformed=malformed):
            peer.receive()
            peer.send(malformed)
            peer.receive()

        expect(load(program, "-c 1 --operations 1", serve), 1, "unexpected: 1 compare: malformed answer (-4)")


def an_answer_to_no_request_is_malformed(program):
    def serve(peer):
        peer.receive()
        peer.send(answer(77, COMPARED, COMPARE_TRUE))
        peer.receive()

    expect(load(program, "-c 1 --operations 1", serve), 1, "malformed answer (-4)")


def a_missing_answer_ends_after_the_timeout(program):
    expect(load(program, "-c 2 --operations 2 --timeout 0.2", lambda peer: list(peer.requests())), 1,
           "unexpected: 2 compare: no answer in time (-5)")


def answers_may_come_in_pieces_and_together(program):
    def serve(peer):
        peer.receive()
        peer.receive()
        for byte in answer(1, COMPARED, COMPARE_TRUE, "x" * 300) + answer(2, COMPARED, COMPARE_TRUE):
            peer.send(bytes([byte]))
            time.sleep(0.001)
        peer.send(compare_true(peer.receive()) + compare_true(peer.receive()))
        peer.receive()

    expect(load(program, "-c 1 --depth 2 --operations 4", serve), 0)


def a_connection_ends_with_an_unbind_after_its_operations(program):
    counts = []

    def serve(peer):
        count = 0
        while (request := peer.receive())[5] != UNBIND:
            peer.send(compare_true(request))
            count += 1
        counts.append(count)

    expect(load(program, "-c 1 --per-connection 3 --operations 7", serve), 0)
    assert sorted(counts) == [1, 3, 3], counts


def at_a_rate_latency_counts_from_when_the_operation_was_due(program):
    def serve(peer):
        first = peer.receive()
        time.sleep(0.4)
        peer.send(compare_true(first))
        for request in peer.requests():
            peer.send(compare_true(request))

    def median_us(options):
        return json.loads(load(program, options, serve)[1])["all"]["p50_us"]

    # 40 operations in 0.4 s: a pause of 0.4 s is seen by all of them, by 20 for 0.2 s.
    assert median_us("-c 1 --rate 100 --operations 40 --json") > 100000
    assert median_us("-c 1 --operations 40 --json") < 100000


def an_idle_connection_that_the_server_closes_is_a_failure(program):
    ended = threading.Event()

    def serve(peer):
        if peer.number == 0:
            peer.stream.close()
            ended.set()
            return
        ended.wait()
        for request in peer.requests():
            peer.send(compare_true(request))

    expect(load(program, "-c 1 --idle 2 --operations 100", serve), 1, "the server closed 1 of 2 idle connections")


def values_of_a_file_name_entries(program):
    """Special characters are escaped. After a tab stands the entry above."""
    requests = []

    def serve(peer):
        for request in peer.requests():
            requests.append(request)
            peer.send(compare_true(request))

    with tempfile.NamedTemporaryFile("w") as file:
        file.write('one\r\n\n a,b+c"d\\e<f>g;h=i \n#1\nbash\tou=shells,dc=packages\r\nthree')
        file.flush()
        expect(load(program, f"-c 1 --operations 100 -b dc=x --attribute cn --values-from {file.name}", serve), 0)
    for dn in ("cn=one,dc=x", r'cn=\ a\,b\+c\"d\\e\<f\>g\;h\=i\ ,dc=x', r"cn=\#1,dc=x", "cn=bash,ou=shells,dc=packages",
               "cn=three,dc=x"):
        assert any(text(dn) in request for request in requests), dn


run_tests(tests_of(globals()), sys.argv[1])
