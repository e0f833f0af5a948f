# SPDX-License-Identifier: MIT
"""The control socket: the protocol, the requests that look, debug and tune, and everything a client may do wrong, alone and
with many others. The server under test is a process of its own, which must survive all of it.

usage: control_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
from processes import BUILD, SANITIZED, SOURCE, Case, Program, Server, cache_of, read  # noqa: E402

ROOT = unittest.skipIf(os.geteuid(), "needs root")
NOBODY = ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
# What that user is answered.
ASK = """import contextlib, socket, sys
with contextlib.suppress(ConnectionError), socket.socket(socket.AF_UNIX) as stream:
    stream.connect(sys.argv[1])
    stream.sendall(sys.argv[2].encode())
    print(stream.recv(4096).decode())"""
# The same twice on one connection, the second time after a line of input.
ASK_AGAIN = """import socket, sys
with socket.socket(socket.AF_UNIX) as stream:
    stream.connect(sys.argv[1])
    stream.sendall(sys.argv[2].encode())
    print(stream.recv(4096).partition(b"\\n")[0].decode(), flush=True)
    sys.stdin.readline()
    stream.sendall(sys.argv[2].encode())
    print(len(stream.recv(4096)), "bytes", flush=True)"""


class Client:
    """A connection to a control socket."""

    def __init__(self, test, process, data=b""):
        self.stream = socket.socket(socket.AF_UNIX)
        test.addCleanup(self.stream.close)
        self.stream.connect(test.socket(process))
        self.stream.settimeout(60)
        self.send(data)

    def send(self, data):
        """The server may have closed already."""
        with contextlib.suppress(ConnectionError):
            self.stream.sendall(data)

    def answer(self):
        """What comes until the server closes."""
        data = b""
        with contextlib.suppress(ConnectionError):
            while more := self.stream.recv(1 << 16):
                data += more
        return data.decode(errors="replace")

    def end_requests(self):
        with contextlib.suppress(OSError):
            self.stream.shutdown(socket.SHUT_WR)


class Control(Case):
    def start(self, mode="plain", name="control_server", **environment):
        self.set_environment(**environment)
        self.server = Server(self, name, mode)
        for variable in environment:
            del os.environ[variable]
        return self.server

    def socket(self, process):
        return f"{self.folder}/slab/{process.pid}.sock"

    def ask(self, words, process=None):
        data = words if isinstance(words, bytes) else f"slab/2 {words}\n".encode()
        return Client(self, process or self.server, data).answer()

    def request(self, words):
        answer = json.loads(self.ask(words))
        self.assertTrue(answer["ok"], words)
        return answer

    def error(self, words):
        """The message with which a request is refused."""
        answer = json.loads(self.ask(words))
        self.assertIs(answer["ok"], False, words)
        return answer["error"]

    def stats(self, name="entry"):
        return cache_of(self.look(self.server.pid, "stats"), name)

    def alive(self, process=None):
        process = process or self.server
        self.assertIn(f'"ok":true,"pid":{process.pid}', self.ask("ping", process))

    def thread(self, process=None):
        """The folder in /proc of the thread that serves, "" when there is none."""
        tasks = Path(f"/proc/{(process or self.server).pid}/task").iterdir()
        return next((str(task) for task in tasks if read(task / "comm") == "slab-control\n"), "")

    def returned(self):
        """What slab_control_fd() did."""
        return int(self.server.ready.split()[1])


def status_line(task, name):
    return re.search(rf"(?m)^{name}:\t(.*)$", read(f"{task}/status"))[1]


class Protocol(Control):
    def test_ping_shows_the_process(self):
        self.start()
        answer = self.ask("ping")
        self.assertTrue(answer.endswith("\n"))
        self.has(answer, '"slab":2,"ok":true', '"command":"control_server"')

    def test_stats_carry_the_process(self):
        self.start()
        about = self.look(self.server.pid, "stats")["process"]
        self.assertEqual(about["pid"], self.server.pid)
        for name in ("cpus", "nodes", "segments", "slab_bytes"):
            self.assertGreaterEqual(about[name], 1)
        self.assertLessEqual(set("segment_size cached_bytes large_bytes metadata_bytes uptime version engine command".split()),
                             set(about))

    def test_stats_carry_every_cache(self):
        self.start()
        entry = self.stats()
        self.assertEqual((entry["object_size"], entry["objects"], entry["flag_names"]), (712, 500, ["SLAB_PANIC"]))
        self.assertGreater(entry["flags"], 0)
        self.assertLessEqual(set("slab_size align objects_per_slab order has_ctor min_partial slabs partial full empty "
                                 "total_objects objects_partial cpu_objects populated".split()), set(entry))
        self.assertEqual(set(entry["events"]), self.events())
        self.assertGreaterEqual(len(entry["nodes"]), 1)
        self.assertEqual(self.stats("empty")["slabs"], 0)

    @staticmethod
    def events():
        names = re.findall(r"^\tSLAB_EVENT_(\w+),", read(SOURCE / "include/slab/stats.h"), re.MULTILINE)
        return set(map(str.lower, names))

    def test_wrong_requests_get_one_error_message(self):
        self.start()
        for words, error in (("shrink nobody", 'no cache is called "nobody"'), ("validate", "validate needs the name of a cache"),
                             ("dance", 'request "dance" is not known'), ("pingpong", "is not known"),
                             (b"slab/3 ping\n", "a request is one line"), (b"\n", "a request is one line"),
                             (b"x" * 5000, "less than 4096 bytes")):
            self.assertIn(error, self.error(words))
        self.alive()

    def test_a_request_may_come_in_pieces_or_without_newline(self):
        self.start()
        pieces, ended = Client(self, self.server), Client(self, self.server, b"slab/2 ping")
        for byte in b"slab/2 ping\r\n":
            pieces.send(bytes([byte]))
            time.sleep(0.001)
        self.assertIn('"ok":true', pieces.answer())
        ended.end_requests()
        self.assertIn('"ok":true', ended.answer())

    def test_half_open_clients_keep_no_client_out(self):
        self.start()
        for i in range(200):
            Client(self, self.server, b"slab/2 st" if i % 2 else b"")
        self.alive()

    def test_clients_that_do_not_read_keep_no_client_out(self):
        self.start()
        for _ in range(100):
            Client(self, self.server, b"slab/2 ping\n")
        self.alive()

    def test_clients_that_read_byte_by_byte_keep_no_client_out(self):
        self.start()
        root = self.request("ping")["root"]
        slow = [Client(self, self.server, f"slab/2 read {root} 256 0 1024\n".encode()) for _ in range(40)]
        begin = time.monotonic()
        for client in slow:
            self.assertEqual(client.stream.recv(1), b"{")
            self.alive()
        self.assertLess(time.monotonic() - begin, 20)
        self.has(slow[0].stream.recv(100).decode(), '"ok":true,"bytes":262144')

    def test_idle_clients_are_dropped(self):
        """In a process whose control thread has nothing else to wake up for."""
        self.start(SLAB_DECAY_MS="never")
        self.assertEqual(Client(self, self.server, b"slab/2 pi").answer(), "")
        self.alive()

    def test_garbage_is_answered_or_dropped(self):
        self.start()
        chance = random.Random(7)
        for i in range(3000):
            garbage = Client(self, self.server, (b"" if i % 3 else b"slab/2 ") +
                             chance.randbytes(chance.randrange(60 if i % 50 else 5000)))
            garbage.end_requests()
            if i % 4:
                garbage.answer()
            garbage.stream.close()
        self.alive()
        self.assertEqual(self.server.finish()[0], 0)

    @ROOT
    def test_another_user_is_refused(self):
        """The way to the socket is open, so that only the peer's identity decides."""
        self.start()
        for path, mode in ((self.folder, 0o755), (self.folder + "/slab", 0o755), (self.socket(self.server), 0o777)):
            os.chmod(path, mode)
        self.assertEqual(self.as_nobody("ping"), "")
        self.alive()

    def as_nobody(self, words):
        return subprocess.run([*NOBODY, "/usr/bin/python3", "-c", ASK, self.socket(self.server), f"slab/2 {words}\n"],
                              cwd="/", check=True, text=True, stdout=subprocess.PIPE).stdout.rstrip()

    def test_directory_and_socket_are_the_users_own(self):
        self.start()
        status = os.stat(self.folder + "/slab")
        self.assertEqual((status.st_mode & 0o7777, status.st_uid), (0o700, os.geteuid()))
        self.assertEqual(self.server.finish()[0], 0)
        self.assertFalse(os.path.exists(self.socket(self.server)))

    def test_others_cannot_search_a_directory_of_another_mode(self):
        path = Path(self.folder, "slab")
        path.mkdir()
        path.chmod(0o755)
        self.start()
        self.assertEqual(path.stat().st_mode & 0o777, 0o700)
        self.alive()

    def test_a_directory_that_is_not_safe_is_not_used(self):
        path = Path(self.folder, "slab")
        path.mkdir()
        path.chmod(0o777)
        self.start()
        self.assertEqual(self.returned(), -1)  # EPERM
        self.assertFalse(os.path.exists(self.socket(self.server)))
        self.assertEqual(self.server.finish(), (0, f"libslab: no control socket: {path}: another user owns it, or may write "
                                                   "to it\n"))
        path.rmdir()
        path.symlink_to("/tmp")
        self.start()
        self.assertLess(self.returned(), 0)
        self.assertFalse(os.path.exists(f"/tmp/{self.server.pid}.sock"))

    def test_sockets_of_the_dead_are_removed(self):
        killed = self.start()
        killed.end(signal.SIGKILL)
        self.assertTrue(os.path.exists(self.socket(killed)))
        first, second = self.start(), self.start()
        self.assertFalse(os.path.exists(self.socket(killed)))
        self.alive(first)
        self.alive(second)

    @unittest.skipIf(SANITIZED, "ThreadSanitizer allows no new thread in a fork's child")
    def test_a_child_has_a_socket_of_its_own_once_it_needs_one(self):
        self.start("fork")
        child, before, after = map(int, re.match(r"child (\d+) before (\d) after (\d)$", self.server.child).groups())
        self.assertEqual((before, after), (0, 1))
        self.alive()
        self.assertIn('"ok":true', self.connect(f"{self.folder}/slab/{child}.sock"))
        self.assertIn("of_the_child", self.look(child, "stats", "ping"))
        self.assertNotIn("of_the_child", self.look(self.server.pid, "stats", "ping"))
        self.assertEqual(self.server.finish()[0], 0)
        self.assertFalse(os.path.exists(f"{self.folder}/slab/{child}.sock"))

    @staticmethod
    def connect(path):
        return subprocess.run([sys.executable, "-c", ASK, path, "slab/2 ping\n"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def test_the_thread_blocks_all_signals(self):
        """A thread that has answered has run: it has its name and its mask."""
        self.start()
        self.alive()
        blocked = int(status_line(self.thread(), "SigBlk"), 16)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGCHLD,
                       signal.SIGPROF):
            self.assertTrue(blocked >> (number - 1) & 1, number)
        self.assertEqual(self.returned(), -16)  # EBUSY

    def test_a_loop_needs_no_thread(self):
        self.start("loop")
        self.assertGreaterEqual(self.returned(), 0)
        self.assertEqual(self.thread(), "")
        self.alive()
        self.assertEqual(self.stats()["name"], "entry")
        self.assertEqual(self.server.finish()[0], 0)

    def test_off_means_off(self):
        self.start(SLAB_CONTROL="off")
        self.assertEqual(self.returned(), -1)
        self.assertFalse(os.path.exists(self.socket(self.server)))
        self.assertEqual(self.thread(), "")

    @unittest.skipIf(SANITIZED, "ThreadSanitizer has a thread of its own")
    def test_the_last_thread_of_the_application_ends_the_process(self):
        """The control thread must not be the one that keeps a process alive."""
        self.start("leave")
        self.server.process.stdin.close()
        self.assertEqual(self.server.process.wait(10), 0)
        self.assertFalse(os.path.exists(self.socket(self.server)))


class Hardening(Control):
    """What many, slow and hostile clients do: nothing that other clients would notice."""

    def test_two_hundred_clients_at_once_are_all_answered(self):
        self.start()
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.ask("ping"))) for _ in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(["true" for answer in answers if '"ok":true' in answer], ["true"] * 200)

    def test_the_client_idle_longest_makes_room(self):
        """It has been accepted, and is the oldest by far."""
        self.start()
        oldest = Client(self, self.server)
        time.sleep(0.05)
        others = [Client(self, self.server) for _ in range(63)]
        self.alive()
        self.assertEqual(oldest.answer(), "")
        for other in others:
            other.send(b"slab/2 ping\n")
            self.assertIn('"ok":true', other.answer())

    def test_a_newcomer_waits_while_all_are_busy(self):
        """They have been accepted, but the last one."""
        self.start()
        clients = [Client(self, self.server) for _ in range(65)]
        time.sleep(0.05)
        for client in clients:
            client.send(b"slab/2 ping\n")
        for client in clients:
            self.assertIn('"ok":true', client.answer())

    def test_a_storm_of_connections_is_harmless(self):
        self.start()
        for _ in range(3000):
            Client(self, self.server).stream.close()
        self.alive()

    def start_by(self, *words):
        """The server is started by another program."""
        wrapper = Path(self.folder, "wrapper")
        wrapper.write_text(f'#!/bin/sh\nexec {" ".join(words)} {BUILD}/bin/control_server "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
        return self.start(name=wrapper)

    def test_a_run_out_of_descriptors_is_waited_out(self):
        self.start_by("prlimit", "--nofile=24:24")
        for client in [Client(self, self.server) for _ in range(40)]:
            client.stream.close()
        self.alive()

    def test_a_large_answer_arrives_whole(self):
        self.start()
        root = self.request("ping")["root"]
        client = Client(self, self.server, f"slab/2 read {root} 256 0 1024\n".encode())
        client.end_requests()
        data = b"".join(iter(lambda: client.stream.recv(1 << 20), b"")).partition(b"\n")[2]
        self.assertEqual(data, data[:256] * 1024)
        self.assertEqual(len(data), 256 * 1024)

    def test_many_caches_are_read(self):
        """Statistics that are an answer of more than two megabytes."""
        self.start()
        self.server.do_task("m")
        self.assertGreaterEqual(len(self.look(self.server.pid, "stats")["caches"]), 3000)

    def test_zero_bytes_are_refused(self):
        self.start()
        for data, error in ((b"slab/2 ping\0\n", "no zero bytes"), (b"\0\n", "no zero bytes"), (b"slab/2 ping\n\0", '"ok":true')):
            self.assertIn(error, self.ask(data))

    def test_a_client_that_sends_nothing_gets_nothing(self):
        self.start()
        quiet = Client(self, self.server)
        quiet.end_requests()
        self.assertEqual(quiet.answer(), "")
        self.alive()

    def test_what_follows_the_first_line_is_ignored(self):
        self.start()
        answer = self.ask(b"slab/2 ping\nslab/2 trim\n" + b"x" * 3000)
        self.assertIn('"pid"', answer)
        self.assertEqual(answer.count("\n"), 1)

    as_nobody = Protocol.as_nobody

    @ROOT
    def test_a_process_that_is_not_dumpable_serves_root_alone(self):
        os.chmod(self.folder, 0o777)
        self.start_by(*NOBODY)
        self.server.do_task("d")
        self.assertEqual(self.as_nobody("ping"), "")
        self.alive()

    @ROOT
    def test_a_client_is_served_as_long_as_the_process_is_dumpable(self):
        os.chmod(self.folder, 0o777)
        self.start_by(*NOBODY)
        root = self.request("ping")["root"]
        client = Program(self, *NOBODY, "/usr/bin/python3", "-c", ASK_AGAIN, self.socket(self.server), f"slab/2 read {root} 8 0 1\n")
        self.assertIn('"ok":true', client.line())
        self.server.do_task("d")
        client.process.stdin.write("\n")
        client.process.stdin.flush()
        self.assertEqual(client.line(), "0 bytes")

    @ROOT
    def test_only_root_makes_allocations_fail(self):
        os.chmod(self.folder, 0o777)
        self.start_by(*NOBODY)
        self.assertIn("only root may", self.as_nobody("fail interval=5"))
        self.assertIn('"ok":true', self.as_nobody("set limit 1000000 entry"))
        self.assertIn("only root may", self.as_nobody("set limit 16384 entry"))
        self.request("fail interval=5")

    def test_a_socket_that_others_put_in_its_place_is_left_alone(self):
        self.start()
        path = self.socket(self.server)
        os.unlink(path)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
            self.assertEqual(self.server.finish()[0], 0)
            self.assertTrue(os.path.exists(path))


class Debug(Control):
    """Debug flags, call sites, marks, sampling with its timer, fault injection."""

    def legacy_kinds(self):
        """The debug flags of the legacy slabs of "entry"."""
        legacy = self.stats()["legacy"]
        self.assertTrue(all(kind["slabs"] > 0 for kind in legacy))
        return " ".join(kind["debug_flags"] for kind in legacy)

    def test_debug_reports_legacy_slabs(self):
        self.start()
        self.assertGreater(self.request("debug fz entry")["legacy_slabs"], 0)
        self.assertEqual(self.legacy_kinds(), "-")
        for task, flags, kinds in (("l", "fzu", "- Z"), ("l", "-", "Z ZU"), ("f", "f", "- Z"), ("l", "-", "F Z")):
            self.server.do_task(task)
            self.request(f"debug {flags} entry")
            self.assertEqual(self.legacy_kinds(), kinds)

    def test_traces_show_stacks_ages_and_threads_of_allocations(self):
        self.start()
        self.request("debug u entry")
        self.server.do_task("l")
        answer, pid = self.look(self.server.pid, "traces allocated 0 entry")["traces"][0], self.server.pid
        site, = answer["sites"]
        self.assertEqual((answer["tracked"], answer["kind"]), (True, "allocated"))
        self.assertEqual([site[key] for key in ("count", "waste", "tid_min", "tid_max", "nodes")], [100, 0, pid, pid, "0"])
        self.assertTrue(site["age_min"] <= site["age_avg"] <= site["age_max"], site)
        self.assertRegex(site["cpus"], "^[0-9,-]+$")
        caller = json.loads(self.slabinfo("-t", "--json", "entry"))[0]["sites"][0]["stack"][0]
        self.assertEqual(caller["file"], str(BUILD / "bin/control_server"))
        self.assertTrue(0 < caller["offset"] < caller["address"], caller)

    def test_the_last_mark_is_remembered(self):
        self.start()
        self.assertEqual(self.look(self.server.pid, "stats")["process"]["mark"], 0)
        first, second = self.request("mark")["mark"], self.request("mark")["mark"]
        about = self.look(self.server.pid, "stats")["process"]
        self.assertEqual(about["mark"], second)
        self.assertTrue(first < second < about["now"], about)

    def test_paths_may_have_any_characters(self):
        program = self.folder + '/sörver "\\ ÿ'
        shutil.copy(BUILD / "bin/control_server", program)
        self.start(name=program)
        self.request("debug u entry")
        self.server.do_task("l")
        answers = json.loads(self.slabinfo("-t", "--json", "entry"))
        self.assertEqual(answers[0]["sites"][0]["stack"][0]["file"], program)

    @staticmethod
    def wakes_in_a_second(task):
        before = int(status_line(task, "voluntary_ctxt_switches"))
        time.sleep(1)
        return int(status_line(task, "voluntary_ctxt_switches")) - before

    def comes_to_rest(self, task):
        """What was begun may have its thread wake for some seconds yet; ten ticks each second never leave one without."""
        self.assertTrue(any(self.wakes_in_a_second(task) == 0 for _ in range(30)))

    def ticks(self, task):
        """How busy the machine may be: ten times are meant."""
        self.assertGreaterEqual(self.wakes_in_a_second(task), 3)

    def test_the_thread_wakes_for_sampling_alone_and_only_while_it_is_on(self):
        """Sampling that is exact needs no ticks."""
        self.start()
        self.request("ping")
        thread = self.thread()
        self.comes_to_rest(thread)
        self.request("sample 1000 pblock")
        self.comes_to_rest(thread)
        self.request("sample 100000 pblock")
        self.ticks(thread)
        self.request("sample 0 pblock")
        self.comes_to_rest(thread)

    def test_sampling_from_the_start_ticks_as_well(self):
        self.start(SLAB_SAMPLE="pblock:100000")
        self.request("ping")
        self.ticks(self.thread())

    def test_a_loop_ticks_through_dispatch(self):
        self.start("loop")
        thread = f"/proc/{self.server.pid}/task/{self.server.pid}"
        self.comes_to_rest(thread)
        self.request("sample 100000 pblock")
        self.ticks(thread)
        self.request("sample 0 pblock")
        self.comes_to_rest(thread)

    def test_frequent_clients_do_not_keep_sampling_from_its_ticks(self):
        """These blocks are freed and handed out again at once: only ticks let them be sampled. A timer that is set anew for
        each client would never run out."""
        self.start()
        self.server.do_task("p")
        self.request("sample 2000 pblock")
        end = time.time() + 20
        while not self.request("ping") or not self.stats("pblock")["guarded_slabs"] and time.time() < end:
            self.server.do_task("p")
        self.assertGreater(self.stats("pblock")["guarded_slabs"], 0)

    def test_wrong_requests_get_one_error_message(self):
        self.start()
        flags = " are no debug flags; accepted: F Z P U T A, and - for none"
        debug = "debug needs flags, or - for none, and the name of a cache"
        failures = (" says no failures; accepted: a comma list of probability=PERCENT, interval=N, times=N, cache=NAME, and - "
                    "for none")
        for words, error in (
                ("debug", debug), ("debug fz", debug), ("debug fxz entry", '"fxz"' + flags), ("debug f- entry", '"f-"' + flags),
                ("debug f nobody", 'no cache is called "nobody"'), ("mark entry", 'mark takes no "entry": it is for all caches'),
                ("sample 10", "sample needs a number, or 0 for off, and the name of a cache"),
                ("sample x entry", '"x" is not a number of allocations; accepted: 1 and more, and 0 for off'),
                ("sample 10 nobody", 'no cache is called "nobody"'), ("fail", '""' + failures), ("fail often", '"often"' + failures),
                ("dance", 'request "dance" is not known; accepted: ping, read ADDRESS SIZE STRIDE COUNT, shrink NAME, validate '
                          "NAME, debug FLAGS NAME, mark, sample N NAME, fail SPEC, profile BYTES, set ATTRIBUTE VALUE NAME, "
                          "reset NAME, trim, count US"),
                ("profile often", '"often" is not a number of bytes between samples; accepted: 0 for off, or a number, also in '
                                  "K, M, G, KiB, MiB or GiB"),
                (f"debug {'x' * 100} entry", f'"{"x" * 32}"' + flags)):
            self.assertEqual(self.error(words), error)
        kinds = 'traces needs "allocated" or "freed", and a mark or 0'
        for words, error in (("", kinds), (" freed", kinds), (" lost 0 entry", 'traces are "allocated" or "freed", not "lost"'),
                             (" freed 0 nobody", 'no cache is called "nobody"'),
                             *((f" freed {mark} entry", f'"{mark}" is no mark; accepted: what "mark" answered, and 0 for all')
                               for mark in ("-1", "99999999999999999999"))):
            self.assertEqual(self.look(self.server.pid, "traces" + words)["error"], error)
        self.request("ping")


class Tune(Control):
    """set, reset, trim and count."""

    def setUp(self):
        super().setUp()
        self.start()

    def test_set_answers_before_and_after(self):
        self.assertEqual(self.ask("set min_partial 10 entry"),
                         '{"slab":2,"ok":true,"name":"entry","attribute":"min_partial","before":2,"after":10}\n')
        self.assertEqual((self.stats()["min_partial"], self.stats("pblock")["min_partial"]), (10, 2))

    def test_a_limit_lets_allocations_fail(self):
        """There are free objects."""
        slabs = self.stats()["slabs"]
        self.assertIn('"before":0,"after":65536', self.ask("set limit 65536 entry"))
        self.assertEqual(self.stats()["limit"], 65536)
        self.assertEqual(self.server.do_task("c"), "0 failed")
        self.assertEqual(self.stats()["slabs"], slabs)

    def test_wrong_settings_get_one_error_message(self):
        settable = "what can be set: min_partial, limit, sample, remote_node_defrag_ratio, and events, to 0"
        slab = max(16384, os.sysconf("SC_PAGESIZE"))
        for words in ("", " limit", " limit 5"):
            self.assertEqual(self.error("set" + words), "set needs an attribute, a value, and the name of a cache")
        for words, error in (
                ("objects 5", "objects can only be read; " + settable),
                ("size 5", 'no attribute is called "size"; ' + settable),
                ("min_partial 65536", 'min_partial cannot be "65536"; accepted: 0 to 65535 slabs'),
                ("min_partial -1", 'min_partial cannot be "-1"; accepted: 0 to 65535 slabs'),
                ("limit 64K", 'limit cannot be "64K"; accepted: 0 for no limit, or a number of bytes, at least one slab'),
                ("limit 1", f"limit of this cache cannot be 1; accepted: 0 for no limit, or at least {slab} bytes, one slab"),
                ("alloc_slab 1", 'alloc_slab cannot be "1"; accepted: 0, which clears it')):
            self.assertEqual(self.error(f"set {words} entry"), error)
        self.assertEqual(self.error("set limit 5 nobody"), 'no cache is called "nobody"')
        self.assertEqual((self.stats()["limit"], self.stats()["min_partial"]), (0, 2))

    def test_the_profile_answers_before_and_after(self):
        self.assertEqual(self.ask("profile 512K"), '{"slab":2,"ok":true,"before":0,"after":524288}\n')
        self.assertEqual(self.ask("profile 0"), '{"slab":2,"ok":true,"before":524288,"after":0}\n')

    def test_reset_clears_the_events_of_one_cache(self):
        self.assertGreater(self.stats()["events"]["alloc_slab"], 0)
        self.assertEqual(self.ask("reset entry"), '{"slab":2,"ok":true,"name":"entry"}\n')
        self.assertEqual(set(self.stats()["events"].values()), {0})
        self.assertGreater(self.stats("pblock")["events"]["alloc_slab"], 0)
        self.assertEqual(self.error("reset"), "reset needs the name of a cache")
        self.assertEqual(self.error("reset nobody"), 'no cache is called "nobody"')

    def test_trim_gives_all_free_memory_back(self):
        self.server.do_task("l")
        self.server.do_task("f")
        self.assertIn('"ok":true,"slabs":', self.ask("trim"))
        document = self.look(self.server.pid, "stats")
        self.assertEqual((document["process"]["cached_bytes"], cache_of(document, "entry")["objects"]), (0, 500))
        self.assertEqual(self.ask("trim"), '{"slab":2,"ok":true,"slabs":0}\n')
        self.assertEqual(self.error("trim entry"), 'trim takes no "entry": it is for all caches')

    def test_count_counts_what_is_allocated_from_then_on(self):
        self.assertEqual(self.stats()["counted_us"], 0)
        self.assertEqual(self.ask("count 1000000"), '{"slab":2,"ok":true,"counting":1000000}\n')
        self.server.do_task("l")
        while self.stats()["counted_us"] < 950000:
            time.sleep(0.02)
        self.assertEqual((self.stats()["counted"], self.stats("pblock")["counted"]), (100, 0))
        self.assertGreaterEqual(self.stats("pblock")["counted_us"], 900000)

    def test_count_ends_after_its_time(self):
        self.assertEqual(self.ask("count 100000"), '{"slab":2,"ok":true,"counting":100000}\n')
        before = -1
        while (now := self.stats()["counted_us"]) < 50000 or now != before:
            before = now
            time.sleep(0.2)

    def test_count_refuses_other_times(self):
        for us in ("", "99", "3600000001", "1s"):
            self.assertEqual(self.error(f"count {us}".rstrip()),
                             f'"{us}" is not how long to count; accepted: 100 to 3600000000 microseconds')


unittest.main()
