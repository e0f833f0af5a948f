#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slab-perf without a traced process: wrong options, missing tools, reports and flame graphs of
files."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from support import HERE, TOOLS, main, run

SAMPLE = os.path.join(HERE, "sample.json")


class Usage(unittest.TestCase):
    def refused(self, status, text, *arguments, **how):
        """One line on stderr that has the text, and this exit status."""
        got, out, err = run(*arguments, **how)
        self.assertEqual((got, out), (status, ""), err)
        self.assertIn(text, err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith("slab-perf: "), err)

    def test_a_wrong_option_is_one_line_and_status_2(self):
        for arguments in (["stat", "--no-such-option"], ["no-such-command"], [],
                          ["stat", "-p", "one"], ["stat", "-p", "0"], ["stat", "-p", "-3"],
                          ["stat", "-p", "1", "-t", "0"], ["stat", "-p", "1", "-t", "nan"],
                          ["report", "--sort", "size"], ["count", "-p", "1", "--", "true"]):
            with self.subTest(arguments=arguments):
                self.refused(2, "", *arguments)

    def test_a_command_needs_exactly_one_target(self):
        for arguments in (["stat"], ["record"], ["flame", "-o", "x.svg"], ["count"],
                          ["stat", "-p", "1", "--", "true"]):
            with self.subTest(arguments=arguments):
                self.refused(2, "one of them", *arguments)
        self.refused(2, "report takes no command", "report", "--", "true")
        self.refused(2, "needs -o FILE", "flame", "-p", "1")

    def test_help_names_every_command(self):
        status, out, _ = run("--help")
        self.assertEqual(status, 0)
        for command in ("stat", "record", "report", "flame", "count"):
            self.assertIn(command, out)

    def test_a_missing_tool_is_named(self):
        nowhere = {"PATH": "/nonexistent"}
        self.refused(1, "bpftrace is missing", "stat", "-p", "1", env=nowhere)
        self.refused(1, "bpftrace is missing", "record", "--", "/bin/true", env=nowhere)
        self.refused(1, "perf is missing", "flame", "-p", "1", "-o", "x.svg", env=nowhere)
        self.refused(1, "valgrind", "count", "--", "/bin/true", env=nowhere)

    def test_a_program_that_does_not_exist(self):
        self.refused(1, "there is no program /no/program", "count", "--", "/no/program")


class Report(unittest.TestCase):
    def test_the_sample_gives_the_expected_tables(self):
        status, out, err = run("report", "-i", SAMPLE)
        with open(os.path.join(HERE, "report.expected"), encoding="utf-8") as file:
            self.assertEqual((status, out, err), (0, file.read(), ""))

    def test_sort_selects_tables(self):
        _, out, _ = run("report", "-i", SAMPLE, "--sort", "cpu")
        self.assertIn("\nCPU ", out)
        self.assertNotIn("call site", out)

    def refused(self, text, contents):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(contents)
            file.flush()
            status, out, err = run("report", "-i", file.name)
        self.assertEqual((status, out), (1, ""))
        self.assertIn(text, err)
        self.assertEqual(err.count("\n"), 1, err)

    def test_other_files_are_refused(self):
        with open(SAMPLE, encoding="utf-8") as file:
            sample = json.load(file)
        self.refused("not JSON", "no JSON")
        self.refused("another version", json.dumps([1]))
        self.refused("another version", json.dumps({**sample, "format": "slab-perf 9"}))
        for wrong in (None, "text", [["entry"]], [["entry", 1, 2, "many"]], [[1, 2, 3, 4]]):
            self.refused("is damaged", json.dumps({**sample, "frees": wrong}))
        self.refused("is damaged", json.dumps({"format": sample["format"]}))
        del sample["frees"]
        self.refused("is damaged", json.dumps(sample))
        status, _, err = run("report", "-i", "/nonexistent")
        self.assertEqual(status, 1)
        self.assertIn("/nonexistent: No such file", err)


class Flame(unittest.TestCase):
    def test_samples_become_boxes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "flame.svg")
            status, out, err = run("flame", "-i", os.path.join(HERE, "sample.perf"), "-o", path)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("3 samples, 33% of them in libslab", out)
            tree = xml.etree.ElementTree.parse(path)
        titles = [title.text for title in tree.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(titles, [
            "all: 3 samples, 100.0%", "main<int>: 3 samples, 100.0%",
            "[libc.so.6]: 1 samples, 33.3%", "do_syscall_64: 1 samples, 33.3%",
            "entry_begin: 2 samples, 66.7%", "slab_alloc_second: 1 samples, 33.3%"])

    def test_a_file_without_samples_is_refused(self):
        status, _, err = run("flame", "-i", SAMPLE, "-o", "/nonexistent/x.svg")
        self.assertEqual(status, 1)
        self.assertIn("no samples", err)


if __name__ == "__main__":
    main()
