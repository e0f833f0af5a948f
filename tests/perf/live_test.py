#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: live_test.py LOAD LIBRARY [Live.TEST]

slab-perf and the scripts for bpftrace on the program LOAD (load.c), where the machine allows it.
"""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

from support import TOOLS, main, run

sys.path.insert(0, TOOLS)
sys.dont_write_bytecode = True
from slab_perf import bpf, failure  # noqa: E402: the path is set above

LOAD, LIBRARY = sys.argv[1:3]
ROUNDS = "200"


def missing():
    """What bpftrace lacks here, or None."""
    try:
        bpf.check()
    except failure.Failure as why:
        return str(why)
    return None


def row_of(out, name):
    """The columns of the first line that begins with this word."""
    return next((line.split() for line in out.splitlines() if line.split()[:1] == [name]), None)


@unittest.skipIf(missing(), missing())
class Live(unittest.TestCase):
    def test_stat_counts_a_command(self):
        status, out, err = run("stat", "--", LOAD, ROUNDS)
        self.assertEqual((status, err), (0, ""))
        row = row_of(out, "item")
        self.assertIsNotNone(row, out)
        self.assertGreater(int(row[1]), 0)
        self.assertEqual(row_of(out, "size-large")[2:4], [ROUNDS, "-"], out)

    def test_stat_watches_a_process_and_leaves_it_running(self):
        with subprocess.Popen([LOAD, "0"]) as load:
            status, out, err = run("stat", "-p", str(load.pid), "-t", "0.5")
            self.assertIsNone(load.poll())
            load.kill()
        self.assertEqual((status, err), (0, ""))
        self.assertGreater(int(row_of(out, "item")[1]), 0, out)

    def test_record_names_call_sites(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            status, _, err = run("record", "-o", path, "--", LOAD, ROUNDS)
            self.assertEqual((status, err), (0, ""))
            _, out, _ = run("report", "-i", path, "--sort", "caller")
        self.assertIn(os.path.basename(LOAD), out)

    def test_a_program_without_libslab(self):
        status, out, err = run("stat", "--", "true")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("no libslab with probes", err)

    def test_a_process_that_does_not_exist(self):
        status, _, err = run("stat", "-p", str(2**31 - 1))
        self.assertEqual(status, 1)
        self.assertIn("there is no process", err)

    def test_scripts_compile(self):
        scripts = glob.glob(os.path.join(TOOLS, "*.bt"))
        self.assertGreaterEqual(len(scripts), 2)
        for script in scripts:
            done = subprocess.run(["bpftrace", "-d", script, LIBRARY], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"{script}: {done.stderr}")


if __name__ == "__main__":
    main(*sys.argv[3:])
