# SPDX-License-Identifier: MIT
"""What the tests of slab-perf share."""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "../../tools/perf")
SKIPPED = 77


def run(*arguments, **how):
    """slab-perf with these arguments: returns (exit status, stdout, stderr)."""
    done = subprocess.run([sys.executable, os.path.join(TOOLS, "slab-perf"), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          **how)
    return done.returncode, done.stdout, done.stderr


def main(*names):
    """Run these tests of the calling script ("Class.test"), or all of them. The exit status is 77 if
    each was skipped."""
    loader, script = unittest.defaultTestLoader, sys.modules["__main__"]
    suite = (loader.loadTestsFromNames(names, script) if names
             else loader.loadTestsFromModule(script))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if len(result.skipped) == result.testsRun else 0)
