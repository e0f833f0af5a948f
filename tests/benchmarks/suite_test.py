# SPDX-License-Identifier: MIT
"""./run bench without the name of a benchmark: what it lists, refuses and runs.

Runs are of a folder of small scripts in the benchmarks' place.
"""
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUITE = os.path.join(ROOT, "benchmarks", "suite")
sys.path += [SUITE, os.path.join(ROOT, "benchmarks", "support")]
import everything  # noqa: E402
import table  # noqa: E402

# Runs all benchmarks of another folder: ROOT NAME...
RUN_ALL = """
import sys
sys.path += sys.argv[1:3]
import main, table
main.ROOT = sys.argv[3]
table.TABLE = [table.Benchmark(name, "", "", (), 1, 1) for name in sys.argv[4:]]
sys.exit(main.run_all(False))
"""


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.01)


def bench(*arguments):
    """./run bench on a machine where nothing can be installed, configured or built."""
    with tempfile.TemporaryDirectory() as stubs:
        for name in ("cmake", "ninja", "apt-get", "sudo"):
            path = os.path.join(stubs, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho {name} was called; exit 99\n")
            os.chmod(path, 0o755)
        environment = dict(os.environ, PATH=stubs + ":" + os.environ["PATH"])
        return subprocess.run([os.path.join(ROOT, "run"), "bench", *arguments], text=True,
                              capture_output=True, env=environment, check=False)


class Options(unittest.TestCase):
    def refused(self, text, *arguments):
        ran = bench(*arguments)
        self.assertEqual(ran.returncode, 2, ran)
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        self.assertIn(text, ran.stderr)
        self.assertNotIn("was called", ran.stdout)

    def test_list_names_all_benchmarks_with_their_cases_and_builds_nothing(self):
        ran = bench("--list")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran)
        self.assertNotIn("was called", ran.stdout)
        for benchmark in table.TABLE:
            self.assertIn(benchmark.question, ran.stdout)
            self.assertIn(benchmark.cases, ran.stdout)

    def test_help_has_the_options_and_the_list_and_builds_nothing(self):
        ran = bench("--help")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran)
        self.assertIn("--quick", ran.stdout)
        self.assertIn(table.listed(), ran.stdout)

    def test_help_of_a_benchmark_builds_nothing(self):
        for benchmark in table.TABLE:
            ran = bench(benchmark.name, "--help")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran)
            self.assertNotIn("was called", ran.stdout)

    def test_an_unknown_benchmark_is_refused(self):
        self.refused("no benchmark 'nosuch'; there are: ", "nosuch")

    def test_an_unknown_option_is_refused(self):
        self.refused("unrecognized arguments: --nosuch", "--nosuch")
        self.refused("unrecognized arguments: --nosuch", "--quick", "--nosuch")


class Table(unittest.TestCase):
    def test_has_each_folder_of_benchmarks(self):
        there = {path.split("/")[-2] for folder in ("benchmarks", "dirsrv/benchmarks")
                 for path in glob.glob(f"{ROOT}/{folder}/*/run.sh")}
        self.assertEqual(there, {benchmark.name for benchmark in table.TABLE})

    def test_quick_takes_less_than_three_minutes(self):
        self.assertLessEqual(sum(benchmark.quick_s for benchmark in table.TABLE),
                             table.QUICK_LIMIT_S)


class Estimate(unittest.TestCase):
    def setUp(self):
        self.estimate = everything.Estimate(
            [table.Benchmark(name, "", "", (), 0, seconds)
             for name, seconds in (("a", 10), ("b", 20), ("c", 30))], False)

    def test_is_the_tables_at_first(self):
        self.assertEqual(self.estimate.left(), 60)

    def test_is_corrected_by_what_has_run(self):
        self.estimate.took["a"] = 20
        self.assertEqual(self.estimate.left(), 100)

    def test_counts_what_runs_now(self):
        self.estimate.took["a"] = 10
        self.assertEqual(self.estimate.left("b", 5), 45)
        self.assertEqual(self.estimate.left("b", 50), 30)


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "build", "bench"))
        os.makedirs(os.path.join(self.root, "docs"))
        with open(os.path.join(self.root, "docs", "performance.md"), "w", encoding="utf-8") as file:
            file.write("# Performance\n")

    def script(self, name, text):
        path = os.path.join(self.root, "benchmarks", name)
        os.makedirs(path)
        with open(os.path.join(path, "run.sh"), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, *names):
        return subprocess.Popen(
            [sys.executable, "-c", RUN_ALL, SUITE, os.path.join(ROOT, "benchmarks", "support"),
             self.root, *names], cwd=self.root, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def finish(self, process):
        out, error = process.communicate(timeout=60)
        return process.returncode, out, error

    def folder(self):
        bench_folder = os.path.join(self.root, "build", "bench")
        return next((os.path.join(bench_folder, name) for name in os.listdir(bench_folder)
                     if os.path.isdir(os.path.join(bench_folder, name))), None)

    def read(self, name):
        with open(os.path.join(self.folder(), name), encoding="utf-8") as file:
            return file.read()

    def test_keeps_the_results_and_describes_the_machine(self):
        self.script("good", "echo figures >build/bench/good.csv; echo table >build/bench/good.md")
        status, out, error = self.finish(self.start("good"))
        self.assertEqual(status, 0, error)
        self.assertEqual(self.read("good.csv"), "figures\n")
        summary = self.read("run.md")
        for word in ("CPU: ", "kernel: ", "frequency governor: ", "transparent huge pages: ",
                     "compiler: ", "commit: ", "load at the start: ", "[good.md](good.md)"):
            self.assertIn(word, summary)
        self.assertIn("run.md", out)
        self.assertIn("[1/1] good: about 1 s; 1 s left in all", error)

    def test_goes_on_after_a_benchmark_that_fails(self):
        self.script("bad", "echo no such library >&2; exit 3")
        self.script("good", "echo figures >build/bench/good.csv")
        status, out, _ = self.finish(self.start("bad", "good"))
        self.assertEqual(status, 1)
        self.assertIn("bad failed: exit status 3: no such library", out)
        self.assertIn("| bad |  | 0 | exit status 3: no such library |", self.read("run.md"))
        self.assertEqual(self.read("good.csv"), "figures\n")

    def test_leaves_results_of_an_older_run_alone(self):
        old = os.path.join(self.root, "build", "bench", "bad.csv")
        with open(old, "w", encoding="utf-8") as file:
            file.write("older\n")
        os.utime(old, (1000, 1000))
        self.script("bad", "exit 1")
        self.finish(self.start("bad"))
        self.assertTrue(os.path.exists(old))
        self.assertFalse(os.path.exists(os.path.join(self.folder(), "bad.csv")))

    def test_a_second_run_of_a_day_has_a_folder_of_its_own(self):
        first = everything.new_folder(self.root, "2026-01-02")
        second = everything.new_folder(self.root, "2026-01-02")
        self.assertEqual(second, first + ".2")

    def interrupted(self, number):
        self.script("good", "echo figures >build/bench/good.csv")
        self.script("endless", "echo $$ >pid; while :; do sleep 0.01; done")
        process = self.start("good", "endless", "good")
        pid = os.path.join(self.root, "pid")
        wait_for(lambda: os.path.exists(pid) and os.path.getsize(pid))
        process.send_signal(number)
        status, _, error = self.finish(process)
        self.assertEqual(status, 130)
        self.assertIn("interrupted; 1 of 3 benchmarks are finished", error)
        self.assertEqual(self.read("good.csv"), "figures\n")
        self.assertIn("| good |", self.read("run.md"))
        with open(pid, encoding="utf-8") as file:
            self.assertRaises(ProcessLookupError, os.kill, int(file.read()), 0)

    def test_an_interrupt_keeps_what_is_finished_and_ends_what_runs(self):
        self.interrupted(signal.SIGINT)

    def test_an_interrupt_waits_until_a_benchmark_has_started(self):
        started = False
        with self.assertRaises(KeyboardInterrupt):
            with everything.deferred():
                os.kill(os.getpid(), signal.SIGTERM)
                started = True
        self.assertTrue(started)

    def test_a_kill_is_an_interrupt(self):
        self.interrupted(signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
