# SPDX-License-Identifier: MIT
"""Programs that do not know libslab, under libslab_malloc.so: that they find nothing in their process that they would not have
without it, and what they get from it. The tests themselves run without it.

usage: malloc_process_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import os
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(2))
sys.argv.pop(1)
LIBRARY, PROGRAMS = BUILD / "lib/libslab_malloc.so", BUILD / "tests/malloc"
PROGRAM, STATIC_PIE = PROGRAMS / "malloc_program", PROGRAMS / "malloc_static_pie"
ENGINES = ("rseq", "cmpxchg16b", "mutex")
NO_TEST = 77  # a program's exit status


def run(*words, **environment):
    return subprocess.run(list(map(str, words)), env=os.environ | {name: str(value) for name, value in environment.items()},
                          text=True, capture_output=True, timeout=200, check=False)


def preloaded(*words, **environment):
    return run(*words, LD_PRELOAD=LIBRARY, **environment)


def program(task, **environment):
    return preloaded(PROGRAM, task, **environment)


class Case(unittest.TestCase):
    def works(self, ran, output=None, errors=None, status=0):
        self.assertEqual(ran.returncode, status, (ran.args, ran.stdout, ran.stderr))
        for got, wanted in ((ran.stdout, output), (ran.stderr, errors)):
            if wanted is not None:
                self.assertEqual(got, wanted, ran.args)


class Alone(Case):
    """Nothing that the program would not have."""

    @classmethod
    def setUpClass(cls):
        cls.alone = run(PROGRAM, "grow").stdout  # how many threads and descriptors it has by itself

    def test_has_no_thread_and_no_descriptor_of_libslab(self):
        self.works(program("grow"), self.alone, "")

    def test_has_them_on_request(self):
        for value in ("on", "auto"):
            ran = program("grow", SLAB_CONTROL=value)
            self.works(ran)
            self.assertTrue(ran.stdout.startswith("threads 2 "), ran.stdout)

    def test_has_them_neither_with_off_nor_before_the_signal(self):
        for value in ("off", "signal:12"):
            self.assertEqual(program("grow", SLAB_CONTROL=value).stdout, self.alone)

    def test_does_not_load_the_cxx_library(self):
        self.works(preloaded("/bin/sh", "-c", "! grep -E 'libstdc|libc[+][+]' /proc/self/maps"))

    def test_may_use_each_descriptor_by_its_number(self):
        """A shell opens a descriptor by its number, over whatever is there."""
        ran = preloaded("/bin/sh", "-c", "f=$(mktemp); for n in 3 4 5 6 7 8 9; do "
                                         'eval "exec $n>$f; echo $n >&$n; exec $n>&-"; cat $f; done; rm $f')
        self.assertEqual((ran.stdout, ran.stderr), ("3\n4\n5\n6\n7\n8\n9\n", ""))

    def works_if_possible(self, ran):
        if ran.returncode == NO_TEST:
            self.skipTest("this system does not let the user do so")
        self.works(ran)

    def test_may_enter_a_new_user_namespace(self):
        self.works_if_possible(program("new_user"))

    def test_works_in_a_sandbox_without_files_and_threads(self):
        self.works_if_possible(program("sandbox", SLAB_DECAY_MS=200))

    def test_works_there_where_it_may_not_ask_for_its_nodes(self):
        self.works_if_possible(program("hidden_nodes", SLAB_DECAY_MS=200))

    def test_returns_memory_without_a_thread(self):
        ran = program("decay", SLAB_DECAY_MS=400)
        self.works(ran)
        self.assertTrue(ran.stdout.startswith(self.alone), ran.stdout)


class Memory(Case):
    def test_returns_memory_if_the_socket_cannot_be_opened(self):
        ran = program("decay", SLAB_DECAY_MS=400, SLAB_CONTROL="auto", SLAB_RUNTIME_DIR="/proc/none")
        self.works(ran)
        self.assertIn("no control socket", ran.stderr)

    def test_is_small_after_a_large_free_unless_it_grows_again_and_again(self):
        for engine in ENGINES:
            self.works(program("silence", SLAB_ENGINE=engine))

    def test_keeps_all_of_it_on_request(self):
        self.works(program("decay", SLAB_DECAY_MS="never"), status=1)

    def test_fails_cleanly_at_the_limit_of_its_address_space(self):
        self.works(program("limit"))

    @staticmethod
    def in_address_space(kib, command, preload=f"LD_PRELOAD={LIBRARY}"):
        return run("/bin/bash", "-c", f"ulimit -v {kib}; {preload} {command}")

    def test_needs_little_address_space_where_there_is_little(self):
        """Slots of CPUs that do not exist would take 32 MiB and more."""
        for command in ("bash -c :", f"{PROGRAM} wait </dev/null"):
            self.works(self.in_address_space(40000, command))

    def test_frees_what_lies_beside_large_allocations_there(self):
        self.works(self.in_address_space(300000, f"{PROGRAM} beside_large"), "", "")

    def test_never_crashes_for_lack_of_address_space(self):
        """Programs at each limit from too little for themselves on: they work, or say that there is no memory, as does the
        dynamic linker. Below some limits the kernel kills them as it starts them, with the library or without."""
        for command in ("bash -c :", "perl -e 1", f"{PROGRAM} wait </dev/null"):
            for kib in (*range(4000, 28000, 2000), 28000, 38000, 48000):
                ran = self.in_address_space(kib, command)
                if ran.returncode not in range(128):
                    self.assertEqual(self.in_address_space(kib, command, "").returncode, ran.returncode, (command, kib))

    def test_endures_failing_allocations(self):
        for rule in ("interval=2", "interval=7", "interval=5,cache=size-*"):
            self.works(program("endure", SLAB_FAIL=rule), "some failed\n")


class Others(Case):
    """Other programs, and what a program gets."""

    def test_may_bring_its_own_malloc(self):
        self.works(preloaded(PROGRAMS / "malloc_own"), errors="")

    @unittest.skipUnless(STATIC_PIE.exists(), "the compiler makes no such programs")
    def test_may_be_static(self):
        self.works(preloaded(STATIC_PIE))

    def test_may_load_a_library_that_contains_its_cxx_library(self):
        self.works(program("static_cxx", STATIC_CXX=PROGRAMS / "libmalloc_static_cxx.so"))

    def test_may_have_an_open_that_allocates(self):
        """Libslab reads files when it starts."""
        for engine in ENGINES:
            self.works(run(PROGRAM, "decay", LD_PRELOAD=f"{LIBRARY}:{PROGRAMS}/libmalloc_open_allocates.so",
                           SLAB_ENGINE=engine, SLAB_DECAY_MS=100))

    def test_children_of_vfork_may_allocate(self):
        """Some programs allocate between vfork() and the program that the child executes."""
        for engine in ENGINES:
            self.works(program("vforks", SLAB_ENGINE=engine))

    def test_debug_flags_find_an_overflow(self):
        errors = program("overflow", SLAB_DEBUG="FZPU,size-*").stderr
        self.assertRegex(errors, "BUG size-112: Right Redzone overwritten|Redzone overwritten")
        self.assertIn("program+0x", errors)
        self.assertEqual(program("overflow").stderr, "")

    def slabinfo(self, *words, **environment):
        """What slabinfo says, without a socket, of a program that waits."""
        with subprocess.Popen([PROGRAM, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"LD_PRELOAD": str(LIBRARY)} | environment) as waiting:
            self.assertEqual(waiting.stdout.readline(), "ready\n")
            ran = run(BUILD / "bin/slabinfo", "--pid", waiting.pid, *words)
            waiting.communicate()
        self.assertEqual(waiting.returncode, 0)
        self.works(ran)
        return ran.stdout

    def test_slabinfo_reads_it_without_a_socket(self):
        self.assertIn("size-832", self.slabinfo())

    def test_slabinfo_shows_its_call_sites(self):
        text = self.slabinfo("-t", "size-832", SLAB_DEBUG="U,size-832")
        self.assertIn("1000 ", text)
        self.assertRegex(text, r"allocate_here|program\+0x")


unittest.main()
