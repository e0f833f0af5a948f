# SPDX-License-Identifier: MIT
"""What ./run test says at its end of tests that failed."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
import failures

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite tests="3" failures="2">
 <testcase name="good" status="run"><system-out>fine</system-out></testcase>
 <testcase name="gtest" status="fail"><failure message=""/><system-out>[==========] Running 3 tests
[ RUN      ] A.Passes
[       OK ] A.Passes (0 ms)
[ RUN      ] A.Fails
a_test.cc:3: Failure
Expected equality
[  FAILED  ] A.Fails (1 ms)
[ RUN      ] A.PassesToo
[       OK ] A.PassesToo (0 ms)
[  FAILED  ] 1 test, listed below:
</system-out></testcase>
 <testcase name="script" status="fail"><failure message=""/><system-out>%s</system-out></testcase>
</testsuite>
"""


class FailuresTest(unittest.TestCase):
    def setUp(self):
        script = "\n".join(f"step {number}" for number in range(100))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "junit.xml")
            path.write_text(JUNIT % script)
            text = io.StringIO()
            with mock.patch.object(sys, "argv", ["failures.py", path]), \
                    contextlib.redirect_stdout(text):
                failures.main()
        self.lines = text.getvalue().split("\n")

    def test_tests_that_passed_are_left_out(self):
        self.assertNotIn("failed: good", self.lines)

    def test_cases_that_passed_are_left_out(self):
        start = self.lines.index("failed: gtest") + 1
        self.assertEqual(self.lines[start:start + 5],
                         ["  a_test.cc:3: Failure", "  Expected equality",
                          "  [  FAILED  ] A.Fails (1 ms)",
                          "  [  FAILED  ] 1 test, listed below:", ""])

    def test_the_end_of_a_script_is_shown(self):
        start = self.lines.index("failed: script") + 1
        self.assertEqual(self.lines[start], f"  step {100 - failures.LINES}")
        self.assertEqual(self.lines[-2], "  step 99")


if __name__ == "__main__":
    unittest.main()
