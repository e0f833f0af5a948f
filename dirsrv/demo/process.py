# SPDX-License-Identifier: MIT
"""Programs that the demo runs, and signals that end it. A signal raises KeyboardInterrupt, but not
while a process is being started: the demo must know each process that it has to end.
"""
import contextlib
import os
import signal
import subprocess

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 60


class Failure(Exception):
    """One sentence that says why the demo cannot go on."""


class Interrupts:
    """Whether a signal has come, and whether it has to wait. The first one counts."""
    seen = raised = held = False


def interrupt(_number, _frame):
    Interrupts.seen = True
    check_interrupt()


def check_interrupt():
    if Interrupts.seen and not Interrupts.raised and not Interrupts.held:
        Interrupts.raised = True
        raise KeyboardInterrupt


def catch_signals():
    for number in SIGNALS:
        signal.signal(number, interrupt)


def ignore_signals():
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def uninterrupted():
    """A signal waits until the end of the block."""
    Interrupts.held = True
    try:
        yield
    finally:
        Interrupts.held = False
    check_interrupt()


def run(command):
    """The output of a program that takes no time, and must succeed."""
    try:
        with uninterrupted():
            done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  timeout=PATIENCE_S, check=False)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{command[0]} has not ended after {PATIENCE_S} s") from error
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Failure(f"{os.path.basename(command[0])} failed (status {done.returncode}): {reason}")
    return done.stdout
