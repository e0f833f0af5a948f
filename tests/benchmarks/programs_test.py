# SPDX-License-Identifier: MIT
"""programs_test.py BUILD: the programs of the benchmarks print what ./run bench asks them for. No figure is judged."""
import csv
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BUILD = os.path.abspath(sys.argv.pop(1))
MIXED = ("lifetimes.random", "lifetimes.touched", "lifetimes.random_2", "lifetimes.zipf", "lifetimes.burst",
         "survivors.alloc", "survivors.free")


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = folder.name
        for part in ("bin", "lib", "tests"):
            os.symlink(os.path.join(BUILD, part), os.path.join(self.build, part))

    def bench(self, name, *arguments):
        """{(contestant, case, size, metric): value} of one quick round."""
        ran = subprocess.run([sys.executable, os.path.join(ROOT, "benchmarks/run.py"), name, "--build", self.build,
                              "--quick", "--rounds", "1", *arguments], text=True, capture_output=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        with open(os.path.join(self.build, "bench", name + ".csv"), encoding="utf-8") as file:
            return {tuple(row[key] for key in ("contestant", "case", "size", "metric")): float(row["value"])
                    for row in csv.DictReader(file)}

    def positive(self, rows, contestants, figures):
        for contestant in contestants:
            for figure in figures:
                self.assertGreater(rows.get((contestant, *figure), 0), 0, f"{contestant} {figure}")

    def test_objects_of_mixed_lifetimes(self):
        rows = self.bench("objects", "--ms", "1", "--sizes", "64", "--contestants", "slab,glibc", "--cases",
                          "^(lifetimes|survivors|memory.random)")
        self.positive(rows, ("slab", "glibc"), [(case, "64", metric) for case in MIXED
                                                for metric in ("ns", "ns_min", "cycles")])
        self.positive(rows, ("slab", "glibc"), [("memory.random", "64", "resident")])

    def test_objects_of_other_designs(self):
        rows = self.bench("objects", "--ms", "1", "--sizes", "64", "--contestants", "SLAB,sheaves,slob", "--cases",
                          "pair|bulk.16|all.free")
        self.positive(rows, ("SLAB", "sheaves", "slob"), [(case, "64", "ns") for case in ("pair", "bulk.16", "all.free")])

    def test_a_recorded_program(self):
        trace = os.path.join(self.build, "trace")
        environment = dict(os.environ, OBJECTS_TRACE=trace, OBJECTS_TRACE_EVENTS="200000", SLAB_CONTROL="off",
                           LD_PRELOAD=os.path.join(BUILD, "lib/record_objects.so"))
        ldif = os.path.join(ROOT, "dirsrv/directory/people.ldif")
        subprocess.run([os.path.join(BUILD, "bin/directory"), "--ldif", ldif, "--entries", "1000",
                        "--threads", "2", "--seconds", "300"], env=environment, check=False, capture_output=True)
        rows = self.bench("objects", "--ms", "1", "--contestants", "slab,glibc,empty", "--cases", "trace", "--trace", trace)
        self.positive(rows, ("slab", "glibc", "empty"), [("trace", "0", "ns"), ("trace.elapsed", "0", "ns")])
        with open(trace, "rb") as file:
            start = file.read(1000000)
        for path, content, text in (("part", start, "it is truncated"), ("text", b"no trace" * 1000, "it is no trace"),
                                    ("missing", None, "No such file")):
            if content is not None:
                with open(os.path.join(self.build, path), "wb") as file:
                    file.write(content)
            self.refused("objects-slab", text, "--trace", os.path.join(self.build, path))
        self.refused("objects-slab", "needs --trace FILE", "--cases", "trace")

    def refused(self, program, text, *arguments):
        ran = subprocess.run([os.path.join(BUILD, "bin", program), *arguments], text=True, capture_output=True, check=False)
        self.assertIn(ran.returncode, (1, 2))
        self.assertIn(text, ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 1)

    def test_malloc(self):
        rows = self.bench("malloc", "--idle", "1", "--contestants", "slab,glibc", "--cases",
                          "^(larson|threads.8|remote|stress|directory|grow.strings|large.touch|program.bash)")
        both = ("slab", "glibc")
        self.positive(rows, both, [(case, "0", "time") for case in ("larson", "remote", "stress", "program.bash")])
        self.positive(rows, both, [("larson", "0", "idle"), ("larson", "0", "peak"), ("grow.strings", "0", "faults")])

    def test_memory(self):
        rows = self.bench("memory", "--seconds", "2", "--contestants", "slab,slab-movable,glibc", "--cases",
                          "peak.objects|directory|small|rcu.section|aging.(snapshot|phases)")
        both = ("slab", "glibc")
        self.positive(rows, (*both, "slab-movable"), [("peak.objects", "0", mark) for mark in ("peak", "freed", "idle")])
        self.assertLess(rows["slab-movable", "peak.objects", "0", "idle"], rows["slab", "peak.objects", "0", "idle"])
        self.positive(rows, both, [("directory", "0", "rate"), ("directory", "0", "resident"), ("directory", "1", "at"),
                                   ("small", "0", "caches"), ("small", "0", "first"), ("small", "0", "slowest")])
        self.positive(rows, both, [("aging.snapshot", "0", "copied"), ("aging.phases", "0", "most")])
        self.positive(rows, ("slab",), [("directory", "0", "loss"), ("rcu.section", "0", "rate")])

    def test_slides(self):
        rows = self.bench("slides", "--cases", "^(pair|memory|bulk)")
        all_four = ("slab", "SLAB", "sheaves", "slob")
        self.positive(rows, all_four, [("pair", "256", "cycles"), ("bulk.16", "256", "cycles"), ("memory", "0", "resident")])
        with open(os.path.join(self.build, "bench/slides.md"), encoding="utf-8") as file:
            self.assertIn("SLUB (slide)", file.read())

    def test_debug_and_latency(self):
        self.positive(self.bench("debug", "--contestants", "none,FZP"), ("none", "FZP"),
                      [("pair", "64", "time"), ("memory", "712", "memory")])
        self.positive(self.bench("latency", "--slabs", "2000"), ("slab",),
                      [("validate", "0", "time"), ("decay", "0", "stall"), ("destroy", "0", "time")])


if __name__ == "__main__":
    unittest.main()
