# SPDX-License-Identifier: MIT
"""Programs that clang compiles with tokens: their types in slabinfo, by name. Skipped without clang 22.

usage: types_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
import urllib.request

from processes import BUILD, SOURCE, FilesCase, Program, write

MALLOC, ARCHIVE = BUILD / "lib/libslab_malloc.so.0", BUILD / "lib/libslab_token.a"
WRAPPED = ["-DWRAPPED", "-fsanitize-alloc-token-extended"]
FAST = ["-fsanitize-alloc-token-fast-abi", "-falloc-token-max=64"]


class TypesCase(FilesCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("clang-22"):
            raise unittest.SkipTest("clang-22 is not installed")

    def compile(self, *words, source="typed_program.c", libraries=(ARCHIVE, "-ldl"), fails=False):
        compiler = "clang++-22" if source.endswith(".cc") else "clang-22"
        ran = subprocess.run([compiler, "-g", "-O1", "-fsanitize=alloc-token", *words, f"-I{SOURCE / 'include'}",
                              SOURCE / "tests/tools" / source, "-o", "program", *map(str, libraries)],
                             capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode != 0, fails, ran.stderr)
        return ran.stderr

    def start(self, *words, preload=MALLOC, **environment):
        settings = [f"{name}={value}" for name, value in environment.items()]
        preloads = [f"LD_PRELOAD={preload}"] if preload else []
        program = Program(self, "/usr/bin/env", *preloads, *settings, "./program", *words)
        self.assertEqual(program.line(), "ready")
        return program

    def objects(self, *words):
        """The numbers of objects by name."""
        rows = re.findall(r"^(\S+) +(\d+) +\d+ ", self.slabinfo(*words, "-l", "-z"), re.M)
        return {name: int(number) for name, number in rows}

    def end(self, program):
        program.process.stdin.write("\n")
        program.process.stdin.flush()
        errors = program.process.communicate(timeout=60)[1]
        return program.process.returncode, errors


class Types(TypesCase):
    def test_have_their_names_and_counts(self):
        self.compile()
        program = self.start()
        found = self.objects("--pid", str(program.pid))
        self.assertEqual((found["session"], found["packet"]), (100, 100))
        self.assertTrue(found["record"] and found["record-128"], found)
        self.assertNotIn("unsigned_long", found)  # pool_alloc() does not pass it on
        self.assertEqual(self.end(program), (0, ""))

    def test_pass_a_wrapper(self):
        self.compile(*WRAPPED)
        program = self.start()
        self.assertEqual(self.objects("--pid", str(program.pid))["unsigned_long"], 100)
        self.assertEqual(self.end(program), (0, ""))

    def test_of_containers_are_those_of_their_elements(self):
        self.compile(source="typed_program.cc")
        found = self.objects("--pid", str(self.start().pid))
        self.assertEqual(found["net::peer"], 100)
        nodes = [name for name in found if name.startswith("std::_Rb_tree_node<std::pair<const_std::basic_strin~")]
        self.assertEqual([found[name] for name in nodes], [100], found)

    def test_come_from_a_list_where_there_is_no_debug_information(self):
        self.compile("-s")
        pid = str(self.start().pid)
        self.assertIn("token-", self.slabinfo("--pid", pid))
        write("list", "session\nstruct\n")
        self.assertEqual(self.objects("--pid", pid, "--types=list")["session"], 100)
        self.assertIn("cannot be read", self.slabinfo("--pid", pid, "--types=nowhere", status=2))

    def test_are_debugged_by_name_while_the_program_runs(self):
        self.compile()
        program = self.start("8", SLAB_CONTROL="on")
        pid = str(program.pid)
        self.slabinfo("--pid", pid, "-da", "session")
        self.assertRegex(self.slabinfo("--pid", pid, "session"), "Redzoning +: +On")
        self.assertRegex(self.slabinfo("--pid", pid, "packet"), "Redzoning +: +Off")
        self.assertRegex(self.end(program)[1], "BUG token-[0-9A-F]{16}.*Right Redzone overwritten")

    def test_have_limits_by_name(self):
        self.compile()
        pid = str(self.start(SLAB_CONTROL="on").pid)
        self.assertIn("packet", self.slabinfo("--pid", pid, "--set", "packet.limit=1M"))
        self.assertRegex(self.slabinfo("--pid", pid, "packet"), "Limit: 1048576|Limit: 1.0")

    def test_are_apart_on_request(self):
        self.compile()
        program = self.start(SLAB_TYPES="apart")
        self.assertEqual(self.objects("--pid", str(program.pid))["session"], 100)
        self.assertEqual(self.end(program), (0, ""))

    def test_are_in_core_files(self):
        self.compile()
        program = self.start()
        if not shutil.which("gdb"):
            self.skipTest("gdb is not installed")
        subprocess.run(["gdb", "-nx", "-batch", "-p", str(program.pid), "-ex", "generate-core-file core"],
                       capture_output=True, check=False)
        if not os.path.exists("core"):
            self.skipTest("gdb may not write a core file here")
        self.assertEqual(self.objects("--core=core")["session"], 100)

    def test_have_their_large_allocations(self):
        self.compile()
        pid = str(self.start().pid)
        self.assertRegex(self.slabinfo("--pid", pid), r"(?m)^packet .*\n  above 32 KiB +1 +- +392KiB$")
        self.assertIn("1 allocations above 32 KiB: 392KiB", self.slabinfo("--pid", pid, "-r", "packet"))

    def test_of_one_name_and_two_sizes_are_marked(self):
        self.compile()
        found = self.objects("--pid", str(self.start().pid))
        self.assertEqual(found["twice?"], 100, found)

    def test_are_in_reports_of_the_process(self):
        self.compile()
        program = self.start("8", SLAB_DEBUG="FZ", SLAB_SYMBOLS="on")
        self.assertRegex(self.end(program)[1], "BUG session: .*Right Redzone overwritten")

    def test_are_in_reports_that_are_read_later(self):
        self.compile()
        report = self.end(self.start("8", SLAB_DEBUG="FZ"))[1]
        self.assertRegex(report, "BUG token-[0-9A-F]{16}: ")
        ran = subprocess.run([BUILD / "bin/slab-symbolize", "program"], input=report, capture_output=True, text=True, check=True)
        self.assertRegex(ran.stdout, "BUG session: .*Right Redzone overwritten")

    def test_are_in_the_heap_profile(self):
        self.compile()
        pid = str(self.start(SLAB_PROFILE="1").pid)
        peak = self.slabinfo("--pid", pid, "--profile=peak", "-N", "1000")
        self.assertRegex(peak, r"(?m)^ .* 200\n        of type packet\n")
        self.assertRegex(peak, r"(?m)^ .* 400000\n        of type packet\n")
        self.slabinfo("--pid", pid, "--flame=heap.svg")
        with open("heap.svg", encoding="utf-8") as file:
            self.assertIn("<title>session: ", file.read())

    def test_are_served_to_prometheus(self):
        self.compile()
        pid = self.start().pid
        exporter = Program(self, BUILD / "bin/slab-exporter", "--listen", "127.0.0.1:0", "--process", "program")
        url = re.search(r"http:\S+", exporter.line())[0]
        for _ in range(2):  # the second scrape looks into no file
            with urllib.request.urlopen(url, timeout=60) as answer:
                self.assertIn(f'pid="{pid}",cache="session"}} 100\n', answer.read().decode())
            time.sleep(1.1)  # a scrape is fresh for a second

    def test_are_in_gdb(self):
        self.compile()
        if not shutil.which("gdb"):
            self.skipTest("gdb is not installed")
        ran = subprocess.run(["gdb", "-nx", "-batch", "-p", str(self.start().pid), "-ex",
                              f"source {SOURCE / 'tools/gdb/slab-gdb.py'}", "-ex", "slab info session"],
                             env={**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}, capture_output=True, text=True,
                             check=False)
        if "ptrace" in ran.stderr:
            self.skipTest("gdb may not attach here")
        self.assertRegex(ran.stdout, r"(?m)^session +100 +16 ", ran.stderr)

    def test_of_the_fast_interface_are_numbers(self):
        self.compile(*FAST)
        program = self.start()
        self.assertTrue([name for name in self.objects("--pid", str(program.pid))
                         if re.fullmatch("token-00000000000000[0-9A-F]{2}", name)])
        self.assertEqual(self.end(program), (0, ""))


class Without(TypesCase):
    """What is missing, and what excludes tokens."""

    def test_the_archive_is_a_link_error(self):
        self.assertIn("undefined reference to `__alloc_token_malloc'", self.compile(libraries=(), fails=True))

    def test_the_library_the_program_runs_as_ever(self):
        for words in ((), FAST, WRAPPED):
            self.compile(*words)
            self.assertEqual(self.end(self.start(preload=None)), (0, ""), words)

    def test_preloading_the_library_is_linked(self):
        self.compile(libraries=(MALLOC, f"-Wl,-rpath,{BUILD / 'lib'}"))
        program = self.start(preload=None)
        self.assertEqual(self.objects("--pid", str(program.pid))["session"], 100)

    def test_sanitizers_of_memory_the_compiler_refuses_tokens(self):
        self.assertIn("not allowed with '-fsanitize=address'", self.compile("-fsanitize=address", fails=True))

    def test_wrappers_an_extended_program_does_not_link(self):
        errors = self.compile("-fsanitize-alloc-token-extended", fails=True)
        self.assertIn("undefined reference to `__alloc_token_pool_alloc'", errors)


if __name__ == "__main__":
    signal.alarm(500)
    unittest.main()
