# SPDX-License-Identifier: MIT
"""Processes that slabinfo reads without their help, live and as core files: of running and of crashed processes, whole and
cut. Files that are no core files.

usage: reading_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import json
import os
import platform
import shutil
import signal
import socket
import struct
import subprocess
import unittest
from pathlib import Path

from processes import BUILD, SANITIZED, SLABINFO, Case, Program, Server, cache_of, read, row_of

LIBSLAB = str(BUILD / "lib/libslab.so")


def caches_part(table):
    """The default table without the lines about resident memory, which changes all the time."""
    return table.partition("\nResident ")[0]


class Silent(Case):
    def start(self, mode="plain", name="silent_server"):
        self.server = Server(self, name, mode)
        self.pid, self.name = str(self.server.pid), f"process {self.server.pid} ({Path(name).name[:15]})"

    def objects(self, *words, name="entry"):
        ran = self.run_slabinfo(*words)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return row_of(ran.stdout, name)[1]


class Process(Silent):
    def stop(self):
        self.addCleanup(os.kill, self.server.pid, signal.SIGCONT)
        os.kill(self.server.pid, signal.SIGSTOP)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(self.server.pid, os.WUNTRACED)[1]))

    def test_call_sites_have_symbols(self):
        self.start(name="control_server")
        self.slabinfo("-du", "entry")
        self.server.do_task("l")
        self.assertIn("leak_entries", self.slabinfo("-t", "--json", "entry"))

    def test_a_program_that_was_replaced_has_names(self):
        program = shutil.copy(BUILD / "bin/control_server", self.folder + "/copy")
        self.start(name=program)
        self.slabinfo("-du", "entry")
        self.server.do_task("l")
        Path(self.folder, "new").write_text("another program", encoding="utf-8")
        os.replace(self.folder + "/new", program)
        self.assertIn("leak_entries+0x", self.slabinfo("-t", "entry"))

    def test_a_process_is_read_after_its_first_thread_has_ended(self):
        self.start("headless", "control_server")
        while "\nState:\tZ" not in read(f"/proc/{self.pid}/status"):
            pass
        self.assertEqual(self.objects("-p", self.pid), "500")
        self.assertIn("-> U", self.slabinfo("-p", self.pid, "-du", "entry"))
        self.assertEqual(self.run_slabinfo("--find-leaks", self.pid).stderr, "")

    def test_a_stopped_process_is_read(self):
        self.start(name="control_server")
        before = self.slabinfo()
        self.stop()
        ran = self.run_slabinfo()
        self.assertEqual((ran.returncode, ran.stderr, caches_part(ran.stdout)), (0, "", caches_part(before)))

    def test_a_stopped_process_cannot_be_changed(self):
        self.start(name="control_server")
        self.stop()
        self.refused(["-s", "entry"], self.name + " is stopped or does not answer; it cannot be changed now")

    def test_a_process_that_does_not_answer_is_read(self):
        self.start("deaf")
        self.assertEqual(self.objects(), "300")

    def test_a_process_that_does_not_answer_cannot_be_changed(self):
        self.start("deaf")
        self.refused(["-d"], self.name + " is stopped or does not answer; it cannot be changed now")

    def test_a_process_that_holds_every_lock_is_read(self):
        self.start("locked")
        self.assertEqual((self.objects(), self.objects("--memory")), ("300", "300"))

    def test_a_process_with_many_pending_clients_is_read(self):
        """One more would wait."""
        self.start("deaf")
        with self.assertRaises(BlockingIOError):
            while True:
                client = socket.socket(socket.AF_UNIX)
                self.addCleanup(client.close)
                client.setblocking(False)
                client.connect(f"{self.folder}/slab/{self.pid}.sock")
        self.assertIn(self.pid, self.slabinfo("--list"))
        self.assertEqual(self.objects(), "300")

    def test_a_process_without_socket_is_read_by_pid_and_by_name(self):
        self.set_environment(SLAB_CONTROL="off")
        self.start()
        self.assertEqual(self.objects("-p", self.pid), "300")
        self.assertEqual(self.objects("--process", "silent_server"), "300")

    def test_a_process_without_socket_cannot_be_changed(self):
        self.set_environment(SLAB_CONTROL="off")
        self.start()
        ran = self.run_slabinfo("-p", self.pid, "-s")
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(ran.stderr, f"slabinfo: {self.name} has no control socket; slabinfo can read it, but "
                                     "change it only if it was started with SLAB_CONTROL=on\n")

    def test_the_list_shows_how_each_process_is_reached(self):
        asked = Server(self)
        self.set_environment(SLAB_CONTROL="off")
        self.start()
        lines = self.slabinfo("--list").splitlines()
        self.assertEqual(lines[0], "       PID  COMMAND          HOW")
        self.assertEqual([line.split() for line in lines[1:]],
                         [[str(asked.pid), "control_server", "socket"], [self.pid, "silent_server", "memory"]])

    def test_processes_of_other_runtime_directories_are_not_listed(self):
        """Its number is enough."""
        self.set_environment(SLAB_CONTROL="off")
        self.start()
        os.mkdir(self.folder + "/other")
        os.environ["SLAB_RUNTIME_DIR"] = self.folder + "/other"
        self.refused(["--list"], "no process has slab caches")
        self.assertEqual(self.objects("-p", self.pid), "300")

    def test_a_busy_process_is_read_again_and_again(self):
        Server(self, mode="load")
        for _ in range(20):
            entry = cache_of(json.loads(self.slabinfo("--memory", "--json", "entry")), "entry")
            self.assertTrue(0 < entry["objects"] <= entry["total_objects"], entry)

    def test_an_archive_in_the_program_is_found(self):
        self.start(name="silent_server_archive")
        self.assertEqual(self.objects("--memory"), "300")

    @unittest.skipIf(SANITIZED, "no static programs with sanitizers")
    def test_a_static_program_is_read(self):
        self.start(name="silent_server_static")
        self.assertEqual(self.objects("--memory"), "300")

    def test_of_two_libslabs_the_one_in_use_is_read(self):
        self.set_environment(LIBSLAB=LIBSLAB)
        self.start("copies", "silent_server_archive")
        self.assertEqual(self.objects("-p", self.pid, "--memory"), "300")

    def test_each_of_two_copies_is_shown(self):
        self.set_environment(LIBSLAB=LIBSLAB)
        self.start("both", "silent_server_archive")
        self.assertEqual(self.objects("-p", self.pid, "--copy", "1", name="mine"), "300")
        self.assertEqual(self.objects("-p", self.pid, "--copy", "2"), "300")
        self.assertEqual(self.run_slabinfo("-p", self.pid).stderr,
                         f"slabinfo: {self.name} has 2 copies of libslab; --copy chooses one, and --list shows them\n")
        self.refused(["-p", self.pid, "--copy", "3"], self.name + " has no copy 3 of libslab with caches")
        self.refused(["-p", self.pid, "--copy", "2", "-s", "entry"],
                     f"the control socket of {self.name} serves another copy of libslab than number 2", 1)
        self.assertEqual(len(row_of(self.slabinfo("--list"), self.pid)), 5)
        self.assertIn("Another copy of libslab in this process has that memory", self.server.finish()[1])

    def test_another_users_process_is_refused(self):
        self.start()
        words, user, victim = [SLABINFO, "--pid", self.pid], "0", self.name
        if os.geteuid() == 0:
            words = ["/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", *words]
        else:
            words[2], victim = "1", f'process 1 ({read("/proc/1/comm").rstrip()})'
        ran = subprocess.run(words, text=True, capture_output=True, check=False)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr),
                         (2, "", f"slabinfo: {victim} belongs to user {user}: only that user and root may look at it\n"))

    def test_a_process_of_another_layout_is_refused(self):
        self.start("", "other_layout")
        error = self.slabinfo("-p", self.pid, status=2)
        self.assertIn(f"slabinfo: {self.name} has libslab 9.9.9 of another build than this ", error)
        self.assertEqual(error.count("\n"), 1)

    def test_a_note_that_leads_nowhere_is_refused(self):
        self.start("", "other_dangling")
        self.refused(["-p", self.pid], f"the memory of {self.name} could not be read")

    def test_a_process_without_caches_is_refused(self):
        self.start("empty")
        self.refused(["-p", self.pid], self.name + " has no slab caches: it has libslab, but no cache")

    def test_a_process_without_libslab_is_refused(self):
        process = Program(self, "/bin/sh", "-c", "echo started; exec cat")
        process.line()
        self.assertIn(" has no slab caches: it does not use libslab\n", self.slabinfo("-p", str(process.pid), status=2))
        self.slabinfo("--list", status=2)

    def test_notes_without_end_are_not_read(self):
        """A look at it would take hours, if all of them were read."""
        Server(self)
        self.start("notes", "hostile_server")
        self.refused(["-p", self.pid], self.name + " has no slab caches: it does not use libslab")
        self.assertEqual(self.slabinfo("--list").count("\n"), 2)

    def test_a_dead_process_is_refused(self):
        dead = os.fork()
        if not dead:
            os._exit(0)
        os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
        self.refused(["-p", str(dead)], f"process {dead} has ended")
        os.waitpid(dead, 0)
        self.refused(["-p", "2147483647"], "there is no process 2147483647")


class Cores(Silent):
    @unittest.skipIf(SANITIZED, "a process with sanitizers has terabytes of shadow")
    def setUp(self):
        super().setUp()
        self.core = ""
        if not Path("/usr/bin/gcore").exists():
            self.skipTest("gcore is not installed")

    def start_and_leave(self, *words, name="control_server", flags=""):
        """Its core file; it goes on."""
        self.start(*words, name=name)
        if flags:
            self.slabinfo(flags, "entry")
            self.server.do_task("l")
        return self.leave()

    def leave(self):
        subprocess.run(["gcore", "-o", self.folder + "/gcore", self.pid], check=True, capture_output=True)
        self.core = f"{self.folder}/gcore.{self.pid}"
        return self.core


class Core(Cores):
    @staticmethod
    def quiet(text):
        """What --json prints, without the numbers that the time alone changes."""
        document = json.loads(text)
        del document["process"]["uptime"], document["process"]["now"]
        return document

    def test_numbers_are_those_of_the_running_process(self):
        """No decay between the two looks."""
        self.set_environment(SLAB_DECAY_MS="never")
        core = self.start_and_leave()
        self.assertEqual(self.quiet(self.slabinfo("--json", "--core", core)), self.quiet(self.slabinfo("--json")))
        ran = self.run_slabinfo("--core", core)
        self.assertEqual((ran.stdout, ran.stderr), (caches_part(self.slabinfo()) + "\n", ""))

    def test_the_process_is_named(self):
        core = self.start_and_leave()
        self.server.finish()
        self.refused(["--core", core, "nobody"], f'no cache of {self.name} matches "nobody"', 1)

    def test_call_sites_have_symbols(self):
        core = self.start_and_leave(flags="-du")
        self.assertIn("    100 leak_entries+0x", self.slabinfo("-t", "entry", "--core", core))

    def test_the_heap_profile_is_drawn(self):
        self.start(name="control_server")
        self.slabinfo("--profile=1")
        self.server.do_task("l")
        core = self.leave()
        self.assertIn("<title>leak_entries: 69.5KiB, ", self.slabinfo("--flame=-", "--core", core))
        self.slabinfo("--pprof=/dev/null", "--core", core)

    def test_leaks_since_a_mark_are_known_without_rates(self):
        """A core file does not say what the clock was."""
        self.start(name="control_server")
        self.slabinfo("-du", "entry")
        self.server.do_task("k")
        self.slabinfo("--mark")
        self.server.do_task("l")
        text = self.slabinfo("--since-mark", "--core", self.leave())
        self.assertTrue(text.startswith("Process "))
        self.has(text, " (control_server), after mark ", "\n100 objects with 69.5KiB in all allocated since then and not freed\n",
                 "leak_entries")
        self.assertNotRegex(text, "keep_one|every minute")

    def test_a_crashed_process_is_read(self):
        pattern = read("/proc/sys/kernel/core_pattern").strip()
        if not pattern or pattern[0] in "|/":
            self.skipTest("core files do not go to the directory of the process")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.server = Server(self, "../" * 40 + str(BUILD / "bin/control_server"))
        subprocess.run(["prlimit", "--core=unlimited", f"--pid={self.server.pid}"], check=True)
        asked = self.quiet(self.slabinfo("--json"))
        self.server.end(signal.SIGABRT)
        core, = Path(self.folder).glob("*core*")
        self.assertEqual(self.quiet(self.slabinfo("--json", "--core", core)), asked)

    def test_a_static_program_is_read(self):
        self.assertEqual(self.objects("--core", self.start_and_leave(name="silent_server_static")), "300")

    def test_a_process_without_libslab_is_refused(self):
        process = Program(self, "/bin/sh", "-c", "echo started; exec cat")
        process.line()
        self.pid = str(process.pid)
        while read(f"/proc/{self.pid}/comm") != "cat\n":
            pass
        self.leave()
        self.refused(["--core", self.core],
                     f'process {self.pid} (cat), which left the core file "{self.core}", did not use libslab')

    def test_another_layout_is_refused(self):
        core = self.start_and_leave("", name="other_layout")
        self.assertIn(" (other_layout) has libslab 9.9.9 of another build than ", self.slabinfo("--core", core, status=2))

    def test_another_program_is_refused(self):
        core, program = self.start_and_leave(), str(BUILD / "bin/control_server")
        self.slabinfo("--core", core, "--exe", program)
        for other in (str(BUILD / "bin/silent_server"), "/etc/passwd"):
            self.refused(["--core", core, "--exe", other],
                         f'"{other}" is not the program that left the core file "{core}", which was {program}')
        for other, why in (("/nowhere", "No such file or directory"), ("/", "it is no regular file")):
            self.refused(["--core", core, "--exe", other], f'the program "{other}" cannot be opened: {why}')

    def test_every_cut_is_seen(self):
        """At the beginning, in the notes, in memory."""
        whole, cut = Path(self.start_and_leave()).read_bytes(), Path(self.folder, "cut")
        for length in (1, 63, 64, 200, 8000, len(whole) // 2, len(whole) * 9 // 10):
            cut.write_bytes(whole[:length])
            self.assertEqual(self.slabinfo("--core", cut, status=2).count("\n"), 1)


class LeftOut(Cores):
    """A static program whose core file lacks what the program's file has."""

    def setUp(self):
        super().setUp()
        self.program = shutil.copy(BUILD / "bin/silent_server_static", self.folder + "/server")
        self.start(name=self.program)
        self.leave_with("3")  # anonymous memory alone

    def leave_with(self, what):
        Path(f"/proc/{self.pid}/coredump_filter").write_text(what, encoding="utf-8")
        self.leave()

    def test_what_the_core_file_leaves_out_is_read_from_the_program(self):
        self.assertEqual(self.objects("--core", self.core), "300")

    def asks_for_the_program(self, why):
        self.refused(["--core", self.core], f"the core file leaves out what is in {self.program}, which cannot be opened: {why}; "
                                            "give the program with --exe")

    def test_a_missing_program_is_asked_for(self):
        os.unlink(self.program)
        self.asks_for_the_program("No such file or directory")

    def test_a_program_that_was_built_again_is_not_read(self):
        """Its ELF header, all that the core file has of it, says so."""
        self.leave_with("0x10")
        os.unlink(self.program)
        shutil.copy(BUILD / "bin/silent_server", self.program)
        self.refused(["--core", self.core], f"the core file leaves out what is in {self.program}, which is another build "
                                            "than the process had; give the program with --exe")

    def test_a_pipe_in_its_place_is_not_opened(self):
        """A core file may call anything a program: a pipe is not waited for."""
        os.unlink(self.program)
        os.mkfifo(self.program)
        self.asks_for_the_program("it is no regular file")
        self.refused(["--core", self.core, "--exe", self.program],
                     f'the program "{self.program}" cannot be opened: it is no regular file')

    def test_a_program_elsewhere_can_be_given(self):
        os.rename(self.program, self.folder + "/moved")
        self.assertEqual(self.objects("--core", self.core, "--exe", self.folder + "/moved"), "300")


MACHINE = 183 if platform.machine() == "aarch64" else 62


def header(kind=2, order=1, machine=MACHINE):
    """One that is right as far as it goes."""
    return struct.pack("=16sHHIQQQIHHHHHH", bytes([0x7f, *b"ELF", kind, order, 1]), 4, machine, 0, 0, 64, 0, 0, 0, 56, 1, 0, 0, 0)


def segment(kind=0, offset=0, size=0):
    return struct.pack("=IIQQQQQQ", kind, 0, offset, 0, 0, size, size, 0)


class NoCore(Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder + "/file"

    def refuse(self, data, error):
        Path(self.path).write_bytes(data)
        self.refused(["--core", self.path], error)

    def test_no_such_file(self):
        self.refused(["--core", self.path], f'the core file "{self.path}" cannot be opened: No such file or directory')

    def test_a_directory(self):
        self.refused(["--core", self.folder], f'"{self.folder}" is a directory; --core needs a core file')

    def test_a_pipe(self):
        os.mkfifo(self.path)
        self.refused(["--core", self.path], f'"{self.path}" is a device or pipe; --core needs a core file')

    def test_an_empty_file(self):
        self.refuse(b"", f'the core file "{self.path}" is empty')

    def test_garbage(self):
        for data in (b"x", b"This is no core file, but a text.\n", bytes(100000), header()[:30]):
            self.refuse(data, f'"{self.path}" is no core file: it does not begin as an ELF file does')

    def test_compressed_files(self):
        for magic, name in ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\x04\x22\x4d\x18", "lz4"), (b"\x1f\x8b", "gzip"),
                            (b"\xfd\x37\x7a\x58\x5a\x00", "xz"), (b"BZh9", "bzip2")):
            self.refuse(magic + b"x" * 100, f'the core file "{self.path}" is compressed ({name}): decompress it first')

    def test_a_program(self):
        self.refused(["--core", SLABINFO],
                     f'"{SLABINFO}" is a program or library and no core file; programs are given with --exe')

    def test_another_architecture(self):
        for other in (header(machine=3), header(kind=1), header(order=2)):
            self.refuse(other + segment(), f'the core file "{self.path}" is of another architecture than this slabinfo')

    def test_a_header_alone(self):
        self.refuse(header(), f'the core file "{self.path}" is damaged: its list of segments cannot be read')

    def test_a_cut_one(self):
        """A size that no file has is no smaller one."""
        for size, end in ((65536, 69632), (2**64 - 1, 2**64 - 1)):
            self.refuse(header() + segment(1, 4096, size), f'the core file "{self.path}" is truncated: 120 of {end} bytes')

    def test_one_without_notes(self):
        self.refuse(header() + segment(1), f'the core file "{self.path}" does not list the files that the process had mapped (it '
                                           "has no NT_FILE note)")


unittest.main()
