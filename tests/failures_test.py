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
<testsuite tests="7" failures="4">
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
 <testcase name="race" status="fail"><failure message=""/><system-out>[ RUN      ] A.Races
WARNING: ThreadSanitizer: data race (pid=1)
[       OK ] A.Races (1 ms)
</system-out></testcase>
 <testcase name="hung" time="1500" status="fail"><failure message=""/><system-out>[==========] Running 1 test
[ RUN      ] A.Hangs</system-out></testcase>
 <testcase name="gone" status="notrun"><skipped message="Unable to find executable"/></testcase>
 <testcase name="left_out" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
 <testcase name="script" time="12.3" status="fail"><failure message=""/><system-out>%s</system-out></testcase>
</testsuite>
"""


def printed(*arguments):
    """The lines that failures.py prints about the tests above."""
    script = "\n".join(f"step {number}" for number in range(100))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "junit.xml")
        path.write_text(JUNIT % script)
        text = io.StringIO()
        with mock.patch.object(sys, "argv", ["failures.py", *arguments, path]), \
                contextlib.redirect_stdout(text):
            failures.main()
    return text.getvalue().split("\n")


class FailuresTest(unittest.TestCase):
    def test_the_names_alone(self):
        self.assertEqual(printed("--names"), ["gtest", "race", "hung", "gone", "script", ""])

    def test_what_went_wrong(self):
        """Without tests and cases that passed or were skipped; of a script the end."""
        end = [f"  step {number}" for number in range(100 - failures.LINES, 100)]
        self.assertEqual(printed(), [
            "", "failed: gtest, 0 s", "  a_test.cc:3: Failure", "  Expected equality", "  [  FAILED  ] A.Fails (1 ms)",
            "  [  FAILED  ] 1 test, listed below:", "", "failed: race, 0 s",
            "  WARNING: ThreadSanitizer: data race (pid=1)", "", "failed: hung, 1500 s",
            "  [==========] Running 1 test", "  [ RUN      ] A.Hangs", "  (it crashed or hung)", "",
            "failed: gone, 0 s", "  ", "", "failed: script, 12 s", *end, ""])


if __name__ == "__main__":
    unittest.main()
