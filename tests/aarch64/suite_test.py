# SPDX-License-Identifier: MIT
"""What suite.py makes of the machine's console and of what tests print; its usage."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import suite  # noqa: E402

SUITE = Path(suite.__file__)
CONSOLE = """boot
a: Skipped
no rseq
[  PASSED  ] 7 tests.

init: a_test.mutex: passed, 3 s
x.cc:1: Failure
[  PASSED  ] 1 test.

init: b_test: exit status 1, 12 s
init: c_test: timed out, 99 s
no such area

init: d_test: exit status 77, 1 s
init: 2 failed
"""


NAMES = ["a_test.mutex", "b_test", "c_test", "d_test"]


def results():
    return list(suite.results_of(io.StringIO(CONSOLE)))


def concluded(tally, found=()):
    """Whether the tally of these results is one of success, and what it prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        for result in found:
            tally.add(*result)
        passed = tally.conclude()
    return passed, text.getvalue()


class SuiteTest(unittest.TestCase):
    def test_the_console_is_cut_into_results(self):
        self.assertEqual([(r.name, r.end, r.seconds) for r in results()],
                         [("a_test.mutex", "passed", 3), ("b_test", "exit status 1", 12),
                          ("c_test", "timed out", 99), ("d_test", "exit status 77", 1)])
        self.assertIn("x.cc:1: Failure", results()[1].output)
        self.assertNotIn("x.cc:1: Failure", results()[0].output)

    def test_failures_are_named_and_are_the_end(self):
        passed, text = concluded(suite.Tally("here", NAMES), [(result,) for result in results()])
        self.assertFalse(passed)
        self.assertIn("here: 1 tests passed with 8 cases, 2 failed, 1 skipped, 0 left out,"
                      " 1 cases skipped",
                      text)
        self.assertIn("failed: b_test: exit status 1", text)
        self.assertIn("1 cases skipped: no rseq", text)
        self.assertIn("skipped: d_test: no such area", text)
        self.assertIn("longest tests: c_test 99 s, b_test 12 s, a_test.mutex 3 s", text)
        self.assertTrue(concluded(suite.Tally("here", NAMES[:1]), [(results()[0],)])[0])

    def test_a_machine_that_stops_early_has_not_passed(self):
        passed, text = concluded(suite.Tally("here", NAMES[:3]), [(results()[0],)])
        self.assertFalse(passed)
        self.assertIn("did not end: b_test\n   did not end: c_test\n", text)

    def test_what_is_left_out_has_a_reason(self):
        tally = suite.Tally("here", [])
        rseq = suite.Test("x.rseq", ["/x"], {"SLAB_ENGINE": "rseq"}, 1, ["unit"])
        tally.leave_out(suite.user_reason(rseq))
        self.assertIn(f"1 tests left out: {suite.NO_RSEQ}", concluded(tally)[1])
        mutex = rseq._replace(environment={"SLAB_ENGINE": "mutex"})
        self.assertIsNone(suite.user_reason(mutex))
        self.assertEqual(suite.user_reason(mutex._replace(labels=["tools"])), suite.OF_TOOLS)
        self.assertEqual(suite.machine_reason(mutex), suite.OF_ENGINES)
        self.assertIsNone(suite.machine_reason(mutex._replace(labels=["fork", "unit"])))

    def test_what_hangs_is_run_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "mark")
            program = (f"import os, sys, time\nif not os.path.exists({mark!r}):\n"
                       f"    open({mark!r}, 'w').close()\n    print('killed by signal 14')\n"
                       f"    if not os.fork(): time.sleep(1000)\n    sys.exit(1)\nprint('fine')")
            test = suite.Test("x", [sys.executable, "-c", program], {}, 60, [])
            tally = suite.Tally("here", ["x"])
            result, again = suite.run_emulated(test, [])
            passed, text = concluded(tally, [(result, again)])
        self.assertEqual((result.end, result.output, again), ("passed", "fine\n", True))
        self.assertTrue(passed)
        self.assertIn("run twice: x: hung in its first run", text)

    def test_a_failure_is_not_run_twice(self):
        test = suite.Test("x", [sys.executable, "-c", "import sys; sys.exit(3)"], {}, 60, [])
        result, again = suite.run_emulated(test, [])
        self.assertEqual((result.end, again), ("exit status 3", False))
        late = suite.Test("x", ["/bin/sleep", "1000"], {}, 0.1, [])
        self.assertEqual(suite.run_once(late, []).end, "timed out")

    def test_bad_options(self):
        for options in (["--user", "--machine"], ["--kernel", "/nowhere"], ["--nothing"]):
            call = subprocess.run([sys.executable, SUITE, *options], stderr=subprocess.PIPE)
            self.assertEqual(call.returncode, 2, options)
            self.assertIn(b"error: ", call.stderr)


if __name__ == "__main__":
    unittest.main()
