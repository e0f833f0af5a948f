# SPDX-License-Identifier: MIT
"""Objects that are lost or damaged (standing_server.c), found in the process and in its core file: slabinfo --find-leaks and
-v. The lines below the table that reconcile libslab's memory with that of the process.

usage: standing_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

from processes import SANITIZED, Case, Program, Server, read


def status_of(pid, name):
    """The named line of /proc's status file."""
    return re.search(rf"(?m)^{name}:\t(.*)$", read(f"/proc/{pid}/status"))[1]


@unittest.skipIf(SANITIZED, "a process with sanitizers has terabytes of shadow")
class Standing(Case):
    def setUp(self):
        super().setUp()
        self.server = Server(self, "standing_server")
        self.pid = str(self.server.pid)

    def core(self):
        """A core file of a process that goes on."""
        if not Path("/usr/bin/gcore").exists():
            self.skipTest("gcore is not installed")
        subprocess.run(["gcore", "-o", self.folder + "/gcore", self.pid], check=True, capture_output=True)
        return f"{self.folder}/gcore.{self.pid}"


class FindLeaks(Standing):
    def find(self, *words, status=1):
        return self.slabinfo("--find-leaks", *(words or [self.pid]), status=status)

    def leaks(self, text, objects, held, cache):
        """The table has a line with these: objects, held objects, cache."""
        self.assertRegex(text, rf"(?m)^ +{objects} +[0-9.]+(KiB)? +{held} +[0-9.]+(KiB)?  {cache}  0x")

    def test_everything_reachable_is_no_leak(self):
        """Globals, thread-local storage, the stack of a thread, malloc(), a large allocation, other objects, a pointer into
        the middle, and constructed objects that are free."""
        ran = self.run_slabinfo("--find-leaks", self.pid)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("\nNo leaks found.\n", ran.stdout)

    def test_a_name_that_no_cache_has_is_an_error(self):
        for word in ("nod3", "core.1"):
            ran = self.run_slabinfo("--find-leaks", "-p", self.pid, word)
            self.assertEqual((ran.returncode, ran.stdout), (1, ""))
            self.assertIn(f'no cache of process {self.pid} (', ran.stderr)
            self.assertIn(f') matches "{word}"', ran.stderr)

    def test_the_same_of_a_core_file(self):
        text = self.find(self.core(), status=0)
        self.assertIn("\nNo leaks found.\n", text)
        self.assertNotIn("stood still", text)

    def test_what_only_the_kernel_has_is_no_leak(self):
        """Connections of an epoll server, values of signals that wait and of timers."""
        for task in "eqT":
            self.server.do_task(task)
            self.assertIn("\nNo leaks found.\n", self.find(status=0), task)

    def test_a_core_file_lacks_what_only_the_kernel_has(self):
        self.server.do_task("e")
        text = self.find(self.core())
        self.leaks(text, 100, 0, "node")
        self.assertIn("\nOnly the kernel knows the pointers in epoll, io_uring, signals, timers: objects that have no others "
                      "are listed, too.\n", text)

    def test_pointers_that_the_kernel_hides_are_mentioned(self):
        if self.server.do_task("u"):
            self.skipTest("no io_uring here")
        self.server.do_task("c")
        self.assertIn("\nOnly the kernel knows the pointers in io_uring: ", self.find())
        self.assertIn('"hidden": [\n    "io_uring"\n  ]', self.find("--json", self.pid))

    def test_a_chain_is_one_leak_that_holds_the_rest(self):
        self.server.do_task("c")
        text = self.find("-p", self.pid)
        self.assertIn("\n1 object with 64 in all cannot be reached, and 2 with 128 only from there.\n", text)
        self.leaks(text, 1, 2, "node")

    def test_a_circle_is_a_leak(self):
        self.server.do_task("o")
        self.leaks(self.find(), 1, 1, "node")

    def test_a_large_allocation_is_found(self):
        self.server.do_task("L")
        self.leaks(self.find(), 1, 0, "size-large")
        self.server.do_task("M")
        self.assertIn("\n      2   19.3MiB         0         0  size-large  0x", self.find())

    def test_call_sites_are_named(self):
        self.server.do_task("t")
        text = self.find()
        self.leaks(text, 5, 0, "tracked")
        self.assertIn("\n        lose_tracked+0x", text)
        self.assertNotIn("no call site", text)

    def test_call_sites_are_named_in_a_core_file(self):
        self.server.do_task("t")
        text = self.find("--core", self.core())
        self.leaks(text, 5, 0, "tracked")
        self.assertIn("\n        lose_tracked+0x", text)

    def test_a_regular_expression_selects_caches(self):
        self.server.do_task("c")
        self.server.do_task("t")
        self.assertNotIn("tracked", self.find(self.pid, "^node$"))
        self.assertIn("No leaks found.", self.find(self.pid, "^buffer$", status=0))

    def test_the_process_goes_on(self):
        self.assertRegex(self.find(status=0), r" stood still for [0-9.]+ ms while [0-9.]+[KM]iB were copied\.\n")
        self.server.do_task("t")
        self.assertEqual(status_of(self.pid, "TracerPid"), "0")

    def wait_for_state(self, letter):
        while status_of(self.pid, "State")[0] != letter:
            time.sleep(0.001)

    def test_a_stopped_process_stays_stopped(self):
        self.server.do_task("t")
        self.addCleanup(os.kill, self.server.pid, signal.SIGCONT)
        os.kill(self.server.pid, signal.SIGSTOP)
        self.wait_for_state("T")
        self.leaks(self.find(), 5, 0, "tracked")
        self.assertEqual(status_of(self.pid, "State")[0], "T")
        os.kill(self.server.pid, signal.SIGCONT)
        self.server.do_task("t")

    def test_a_process_that_sleeps_in_the_kernel_is_not_stopped(self):
        self.server.process.stdin.write("d\n")
        self.server.process.stdin.flush()
        self.wait_for_state("D")
        self.assertEqual(self.run_slabinfo("-p", self.pid).stderr, "")
        self.refused(["--find-leaks", self.pid, "--stop-limit=0.1"],
                     f"process {self.pid} (standing_server) cannot be stopped: its thread {self.pid} sleeps in the kernel, and "
                     "no signal wakes it (state D)")
        os.kill(int(read(f"/proc/{self.pid}/task/{self.pid}/children")), signal.SIGKILL)
        self.assertEqual(self.server.line(), "done")

    def test_json_has_addresses_and_stacks(self):
        self.server.do_task("t")
        self.has(self.find("--json", "-p", self.pid), '"cache": "tracked"', '"objects": 5', '"symbol": "lose_tracked+0x')

    def test_at_the_time_limit_the_process_goes_on(self):
        self.server.do_task("b")
        ran = self.run_slabinfo("--find-leaks", self.pid, "--stop-limit=0.01")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn(f"slabinfo: process {self.pid} (standing_server) went on after 0.", ran.stderr)
        self.server.do_task("t")
        self.assertEqual(status_of(self.pid, "TracerPid"), "0")

    def test_hundreds_of_thousands_of_objects_are_searched(self):
        self.server.do_task("b")
        self.server.do_task("c")
        self.leaks(self.find(), 1, 2, "node")

    def test_bad_time_limits_are_refused(self):
        self.refused(["--find-leaks", self.pid, "--stop-limit", "0.0"],
                     '"0.0" is no time for --stop-limit; accepted are 0.01 to 86400 seconds')
        self.refused(["-T", "--stop-limit", "1"],
                     "--stop-limit is how long a process may stand still; it goes with --find-leaks and -v")

    def test_a_process_under_a_debugger_is_refused(self):
        gdb = Program(self, "/usr/bin/gdb", "-q", "-nx", "-p", self.pid)
        while status_of(self.pid, "TracerPid") == "0":
            time.sleep(0.001)
        self.assertIn(f"cannot be stopped: process {gdb.pid} traces it", self.find(status=2))
        gdb.process.communicate("kill\ny\nquit\n", timeout=60)


class Verify(Standing):
    def verify(self, pattern, status=1):
        """What -v says about the process and about its core file: the same, but for the line that says how long it stood
        still."""
        core = self.slabinfo("-v", "--core", self.core(), pattern, status=status)
        live = self.slabinfo("-v", "--memory", "-p", self.pid, pattern, status=status)
        self.assertTrue(live.startswith("Process "), live)
        without_ages = [re.sub(" age=.*? ms", "", text) for text in (live.partition("\n")[2], core)]
        self.assertEqual(*without_ages)
        return core

    def test_a_healthy_process_has_no_problems(self):
        text = self.verify(".", 0)
        self.assertEqual(text.count("\n"), 5)
        self.has(text, "tracked               no problems found\n", "plain                 no problems found\n")

    def test_a_red_zone_that_was_overwritten_is_reported(self):
        """A core file does not say what time it was."""
        self.server.do_task("z")
        text = self.verify("tracked")
        self.has(text, "\nBUG tracked: Right Redzone overwritten\n", "First byte 0x78 instead of 0xcc\n",
                 "\nAllocated in reach_everything+0x", "(standing_server)\n", ": 78 cc cc cc cc cc cc cc ",
                 "\ntracked                      1 problem found\n")
        self.assertNotRegex(text, "FIX | age=")

    def test_each_of_several_caches_has_its_own_problems(self):
        self.server.do_task("z")
        self.server.do_task("f")
        text = self.verify(".")
        self.has(text, "\nBUG tracked: Right Redzone overwritten\n", "\nBUG plain: Map of free objects corrupt\n",
                 "\ntracked                      1 problem found\n", "\nnode                  no problems found\n")
        self.assertNotIn("BUG plain", self.verify("tracked|node"))

    def test_a_write_after_the_free_is_reported(self):
        self.server.do_task("w")
        self.has(self.verify("tracked"), "\nBUG tracked: Poison overwritten\n", "First byte 0x79 instead of 0x6b\n",
                 "\nFreed in write_after_free+0x")

    def test_reports_are_those_of_the_process_itself(self):
        self.server.do_task("z")
        ours = self.slabinfo("-v", "--core", self.core(), "tracked", status=1)
        self.assertEqual(self.slabinfo("-v", "tracked", status=1),
                         "tracked                      1 problem found; the process has reported it\n")
        theirs = self.server.finish()[1].splitlines()
        same = [line for line in ours.splitlines() if "+0x" not in line and "problem found" not in line]
        self.assertLessEqual(set(same), set(theirs) | {""})
        self.assertGreater(len(same), 8)

    def test_a_damaged_map_is_reported(self):
        self.server.do_task("f")
        self.has(self.verify("plain"), "\nBUG plain: Map of free objects corrupt\n",
                 "\nThe slab is inconsistent: the number of free objects is wrong\n")

    def test_an_object_that_a_cpu_holds_twice_is_reported(self):
        self.server.do_task("h")
        self.assertIn("\nBUG plain: Object held twice\n", self.verify("plain"))

    def test_a_wrong_count_of_a_list_is_reported(self):
        self.server.do_task("n")
        self.has(self.verify("plain"), "BUG plain: 0 partial slabs counted but counter=3\n", "\nLists of shard 0\n",
                 "\nShard 0\n")

    def test_what_a_thread_is_changing_is_left_out(self):
        """The thread that holds the lock may be in the middle of a change."""
        self.server.do_task("z")
        self.server.do_task("k")
        self.assertIn("tracked               no problems found; 1 debug slab left out, which a thread may be changing\n",
                      self.verify("tracked", 0))


class Resident(Standing):
    def numbers(self, *words):
        """From the line on that says what is resident, by the word before them."""
        text = self.slabinfo(*(words or ["-B"])).partition("\nResident ")[2]
        return {name or "resident": int(number) for name, number in
                re.findall(r"(?:^|\b(RssAnon|objects|slab overhead|free slabs|large|metadata|other memory) )(\d+)", text)}

    def test_the_sum_is_within_three_per_cent_of_the_process(self):
        """Half of a large allocation is written, the rest was only read; the process has little else."""
        self.server.do_task("b")
        of = self.numbers()
        self.assertGreater(of["resident"], 90e6)
        self.assertGreater(of["objects"], 500000 * 64 + 12000 * 4096)
        self.assertTrue(16 << 20 < of["large"] < 18 << 20, of)
        self.assertTrue(of["RssAnon"] * 0.97 < of["resident"] < of["RssAnon"] * 1.03, of)

    def test_parts_add_up(self):
        of = self.numbers()
        self.assertEqual(of["resident"], sum(of[part] for part in ("objects", "slab overhead", "free slabs", "large",
                                                                   "metadata")))
        self.assertEqual(of["RssAnon"] - of["resident"], of["other memory"])

    def test_fewer_lines_have_the_same_sum(self):
        """The objects are those of all caches, whichever lines are shown."""
        self.assertEqual(self.numbers()["objects"], self.numbers("-B", "-N1")["objects"])

    def test_a_core_file_has_no_such_lines(self):
        text = self.slabinfo("--core", self.core())
        self.assertIn("\nMemory ", text)
        self.assertNotIn("RssAnon", text)


unittest.main()
