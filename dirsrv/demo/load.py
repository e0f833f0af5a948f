# SPDX-License-Identifier: MIT
"""The load: ldapload asks each server for the same entries."""
import contextlib
import json
import os
import signal
import subprocess

from process import Failure, uninterrupted
from server import PASSWORD, ROOT, names, suffix

MIX = "search=55,base=15,compare=15,or=5,modify=5,add=5"
CONNECTIONS, IDLE = 16, 200
WITHOUT_END_S = 3600


class Load:
    """ldapload and its options. The entries are those of `server`, which all others have, too."""

    def __init__(self, program, server, folder):
        self.program = program
        self.base = suffix(server)
        self.attribute, entries = names(server, self.base)
        self.example = min((value for value, _ in entries), key=len)
        self.values = os.path.join(folder, "values")
        with open(self.values, "w", encoding="utf-8") as file:
            file.writelines(f"{value}\t{above}\n" for value, above in entries)

    def command(self, server, seconds, *options):
        return [self.program, "--uri", server.uri, "--bind-dn", ROOT, "--password", PASSWORD,
                "--base", self.base, "--attribute", self.attribute, "--values-from", self.values,
                "--connections", str(CONNECTIONS), "--idle", str(IDLE), "--mix", MIX,
                "--seconds", f"{seconds:g}", *options]

    def show(self, server, seconds):
        """A run with its progress and its table on the terminal."""
        with running(self.command(server, seconds), None) as process:
            status = process.wait()
        if status:
            server.check()
            raise Failure(f"ldapload ended with status {status}")

    def measured(self, server, seconds, warm_up):
        return running(self.command(server, seconds, "--warm-up", f"{warm_up:g}", "--json"))

    def endless(self, server):
        return running(self.command(server, WITHOUT_END_S))


@contextlib.contextmanager
def running(command, output=subprocess.PIPE):
    """A process beside the block, which it does not outlive."""
    process = None
    try:
        with uninterrupted():
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                command, stdout=output, stderr=output, text=True)
        yield process
    finally:
        if process and process.poll() is None:
            process.kill()
            process.wait()


def end(process):
    """End a run early."""
    process.send_signal(signal.SIGINT)
    output(process)


def results(process):
    return json.loads(output(process))


def output(process):
    """What a run printed, which must have been without a failed operation."""
    text, errors = process.communicate()
    if process.returncode:
        lines = (errors.strip() or text.strip() or "no message").splitlines()
        raise Failure(f"ldapload ended with status {process.returncode}: {lines[-1]}")
    return text
