# SPDX-License-Identifier: MIT
"""pblock-profile: the report and the picture of a real server's traces, and the arithmetic on traces small enough to do by
hand. pblock-replay: all traces, a pblock that is broken, and traces that are.

usage: trace_tools_test.py SOURCE-FOLDER BUILD-FOLDER FORGETFUL-PBLOCK
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, "/")
        os.chdir(folder.name)
        self.traces = sorted(map(str, (BUILD / "pblock").glob("*.trace")))
        self.assertEqual(len(self.traces), 7)

    def run_tool(self, name, *words, **settings):
        return subprocess.run([BUILD / "bin" / name, *words], text=True, capture_output=True, check=False,
                              env={**os.environ, **settings})

    def output(self, name, *words):
        """What it prints when it succeeds without a word on stderr."""
        ran = self.run_tool(name, *words)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def refused(self, name, words, error):
        ran = self.run_tool(name, *words)
        self.assertEqual((ran.returncode, ran.stderr), (2, f"{name}: {error}\n"), words)

    def manual_has_options(self, name):
        manual = (SOURCE / f"dirsrv/docs/man/man1/{name}.1").read_text(encoding="utf-8")
        for option in re.findall(r"--([\w-]+)", self.output(name, "--help")):
            self.assertTrue(f"Fl -{option}" in manual or f", -{option}" in manual, option)


class Profile(Tools):
    def report(self, *traces):
        names = [f"{i}.trace" for i in range(len(traces))]
        for name, trace in zip(names, traces):
            Path(name).write_text(trace, encoding="utf-8")
        return self.output("pblock-profile", *names)

    @staticmethod
    def sets(numbers, weight=1):
        """A pblock in which these were set."""
        return f"weight {weight}\nnew 1\n" + "".join(f"set 1 {number}\n" for number in numbers) + "destroy 1\n"

    def expect(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)

    def test_report_of_a_real_server(self):
        self.expect(self.output("pblock-profile", *self.traces), "1047565 pblocks", "\nA: ", " SLAPI_SEARCH_FILTER ")

    def test_picture_of_a_real_server(self):
        self.assertEqual(self.output("pblock-profile", "--svg=heat.svg", *self.traces), "")
        picture = Path("heat.svg").read_text(encoding="utf-8")
        xml.etree.ElementTree.fromstring(picture)
        self.assertIn("110 SEARCH_SCOPE", picture)
        self.assertEqual(self.output("pblock-profile", "--svg=-", *self.traces), picture)

    def test_parameters_that_are_set_together_are_a_clump(self):
        self.expect(self.report(self.sets([60, 61, 62], 10), self.sets([114, 115, 116], 90)),
                    "A: 3 parameters, 24 bytes, set in 90.0 % of the pblocks\n   114 SLAPI_SEARCH_FILTER",
                    "B: 3 parameters, 24 bytes, set in 10.0 % of the pblocks\n    60 SLAPI_ADD_ENTRY")

    def test_parameters_that_one_in_three_uses_together_are_no_clump(self):
        self.expect(self.report(self.sets([60, 61]), self.sets([60]), self.sets([61])), "\nA: 1 parameter, ",
                    "\nB: 1 parameter, ")

    def test_what_is_only_read_needs_no_room(self):
        self.expect(self.report("new 1\nset 1 3\nget 1 132\nget 1 132\ndestroy 1\n"), "1 pblocks, 2 gets, 1 sets\n",
                    "2 parameters, 8 bytes, set in 100.0 % of the pblocks\n")

    def test_init_and_clone_begin_other_pblocks(self):
        self.expect(self.report("new 1\nset 1 3\ninit 1\nset 1 130\nclone 1 2\nget 2 130\ndestroy 1\ndestroy 2\n"),
                    "3 pblocks, 1 gets, 2 sets\n", "           0            1   33.3\n", "           1            1   66.7\n")

    def test_pblocks_that_were_never_touched(self):
        self.expect(self.report(self.sets([], 3)), "3 pblocks, 0 gets, 0 sets\nNo parameter was touched.")
        self.refused("pblock-profile", ["--svg=no.svg", "0.trace"],
                     "no.svg: there is nothing to draw: no parameter was touched")

    def test_bad_usage(self):
        for words, error in (([], "TRACE: no file is named; see pblock-profile --help"),
                             (["--colour"], "--colour: no such option, or it takes no value; see pblock-profile --help"),
                             (["--svg"], "--svg: a value is missing; see pblock-profile --help"),
                             (["no.trace"], "no.trace cannot be read: No such file or directory"),
                             (["--svg=no/heat.svg", self.traces[0]],
                              "no/heat.svg cannot be written: No such file or directory")):
            self.refused("pblock-profile", words, error)

    def test_the_manual_has_its_options(self):
        self.manual_has_options("pblock-profile")


class Replay(Tools):
    def refused_trace(self, text, error):
        Path("a.trace").write_text(text, encoding="utf-8")
        self.refused("pblock-replay", ["a.trace"], "a.trace" + error)

    def test_all_traces(self):
        table = self.output("pblock-replay", "--rounds=3", *self.traces)
        self.assertEqual(len(table.splitlines()), 1 + len(self.traces), table)
        self.assertIn("  search.trace\n", table)

    def test_clones_and_reused_pblocks_are_checked(self):
        """110 stays in both, 17 moves to the clone, 143 is owned."""
        sets = "".join(f"set 1 {number}\n" for number in (110, 17, 143, 885, 850, 1945))
        gets = "".join(f"get {p} {n}\n" for p, n in ((1, 110), (1, 17), (1, 143), (1, 885), (1, 850), (2, 110), (2, 17),
                                                     (2, 143), (2, 885), (2, 1945)))
        again = "".join(f"get 2 {number}\n" for number in (110, 17, 143, 1945))
        Path("a.trace").write_text(f"new 1\n{sets}clone 1 2\n{gets}init 2\n{again}destroy 2\ndestroy 1\n", encoding="utf-8")
        self.output("pblock-replay", "--rounds=2", "a.trace")

    def test_a_get_that_gives_something_else_is_found(self):
        Path("a.trace").write_text("new 1\nget 1 110\n\nset 1 110\n# now\nget 1 110\ndestroy 1\n", encoding="utf-8")
        ran = self.run_tool("pblock-replay", "a.trace", LD_PRELOAD=FORGETFUL)
        self.assertEqual((ran.returncode, ran.stderr),
                         (1, "pblock-replay: a.trace:6: get gives something else than what was set last\n"))

    def test_comments_and_blanks(self):
        Path("a.trace").write_bytes(b"# about\n\n \t\n  new\t1\r\nget 1 3 # it\ndestroy 1\n")
        self.output("pblock-replay", "a.trace")

    def test_lines_that_are_no_calls(self):
        weight = '"weight" is a number up to 10^9, before the first call'
        for text, error in (("new 1\nfree 1\n", ':2: "free" is no call: new, init, set, get, clone or destroy'),
                            ("new\n", ':1: "new" wants one number'), ("new 1 2\n", ':1: "new" wants one number'),
                            ("weight\n", ":1: " + weight), ("weight x\n", ":1: " + weight),
                            ("new 1\nweight 2\n", ":2: " + weight),
                            ("new 1\nset 1\n", ':2: "set" wants two numbers'),
                            ("new 1\nset 1 3 4\n", ':2: "set" wants two numbers'),
                            ("\x1b[31mred\n", ':1: "?[31mred" is no call: new, init, set, get, clone or destroy')):
            self.refused_trace(text, error)

    def test_parameters_that_do_not_exist(self):
        for number in ("SLAPI_PLUGIN", "-3", "3.0", "2047", "2048", "99999999999999999999"):
            self.refused_trace(f"new 1\nget 1 {number}", f':2: "{number}" is no parameter of <slab/dirsrv/pblock.h>')

    def test_pblocks_that_are_not_there(self):
        for name in ("p", "-1", "1000001"):
            self.refused_trace(f"new {name}", f':1: "{name}" is no pblock: these are numbers up to 1000000')
        for text, error in (("new 1\nset 2 3\n", ':2: "2" is no pblock: it begins by new or clone'),
                            ("new 1\ndestroy 1\nget 1 3\n", ':3: "1" is no pblock: it begins by new or clone'),
                            ("new 1\nnew 1\n", ':2: "1" is there already: destroy it before'),
                            ("new 1\nclone 1 1\n", ':2: "1" is there already: destroy it before'),
                            ("new 1\n\nnew 2\ndestroy 1\n", ":3: 2 is never destroyed"),
                            ("# nothing\n", ": a trace has at least one call")):
            self.refused_trace(text, error)

    def test_bad_usage(self):
        self.refused("pblock-replay", [], "TRACE: no file is named; see pblock-replay --help")
        for rounds in ("-1", "x", "", "0", "1000000001", "1e3"):
            self.refused("pblock-replay", ["--rounds=" + rounds, "a.trace"],
                         f"{rounds}: rounds are a number from 1 to 1000000000; see pblock-replay --help")
        self.refused("pblock-replay", ["--fast"], "--fast: no such option, or it takes no value; see pblock-replay --help")
        self.refused("pblock-replay", ["no.trace"], "no.trace cannot be read: No such file or directory")
        self.refused("pblock-replay", ["/"], "/ cannot be read: Is a directory")

    def test_the_manual_has_its_options(self):
        self.manual_has_options("pblock-replay")


FORGETFUL = sys.argv.pop()
BUILD, SOURCE = Path(sys.argv.pop()).resolve(), Path(sys.argv.pop()).resolve()
unittest.main()
