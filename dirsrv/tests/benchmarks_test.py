# SPDX-License-Identifier: MIT
"""benchmarks_test.py BUILD: the benchmarks of directory servers have the figures that they promise. None is judged."""
import csv
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BUILD = os.path.abspath(sys.argv.pop(1))


class Benchmarks(unittest.TestCase):
    def bench(self, name, *arguments):
        """{(contestant, case, metric): value} of one quick round."""
        with tempfile.TemporaryDirectory() as build:
            for part in ("bin", "lib"):
                os.symlink(os.path.join(BUILD, part), os.path.join(build, part))
            ran = subprocess.run([sys.executable, os.path.join(ROOT, "benchmarks/run.py"), name, "--build", build,
                                  "--quick", *arguments], text=True, capture_output=True, check=False)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            with open(os.path.join(build, "bench", name + ".csv"), encoding="utf-8") as file:
                return {(row["contestant"], row["case"], row["metric"]): float(row["value"])
                        for row in csv.DictReader(file)}

    def test_listener(self):
        rows = self.bench("listener", "--cases", "busy|idle|accept|mix", "--contestants", "inline,multi,slab,glibc",
                          "--connections", "4", "--idle", "10")
        for form in ("inline", "multi"):
            for case in ("busy", "idle", "accept"):
                self.assertGreater(rows[form, case, "rate"], 1)
        for name in ("slab", "glibc"):
            for metric in ("rate", "cpu", "p99", "peak", "end", "idle"):
                self.assertGreater(rows[name, "mix", metric], 0)


unittest.main()
