# SPDX-License-Identifier: MIT
"""Processes of tests: programs with pipes, servers with caches, and processes that answer in libslab's place. They end with
the test."""
import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
SLABINFO = BUILD / "bin-scripted/slabinfo"
SANITIZED = bool(re.search("^SLAB_SANITIZE:STRING=.", (BUILD / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE))


class Program:
    """A program with pipes, which ends with the test."""

    def __init__(self, test, *words):
        self.process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.pid, self.errors = self.process.pid, ""
        test.addCleanup(self.end)

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def finish(self):
        """At the end of its input: its exit status and errors."""
        self.errors = self.process.communicate(timeout=60)[1]
        return self.process.returncode, self.errors

    def end(self, number=signal.SIGTERM):
        """Its exit status and errors."""
        if self.process.returncode is None:
            self.process.send_signal(number)
            self.errors = self.process.communicate(timeout=60)[1]
        return self.process.returncode, self.errors


class Server(Program):
    """A process with caches: tests/support/control_server.c has its tasks."""

    def __init__(self, test, name="control_server", mode="plain"):
        super().__init__(test, BUILD / "bin" / name, mode)
        self.child = self.line() if mode == "fork" else ""
        self.ready = self.line()
        if self.ready.startswith("child"):
            self.ready, self.child = self.child, self.ready
        test.assertTrue(self.ready.startswith("ready "), self.ready)

    def do_task(self, task):
        """What it prints meanwhile."""
        self.process.stdin.write(task + "\n")
        self.process.stdin.flush()
        printed = ""
        while (line := self.line()) not in ("done", ""):
            printed += line
        return printed


class Impostor:
    """A process that listens where libslab would. answer(request, asked) makes each answer; `asked` counts the requests for
    statistics. Without it no client is answered. `name` is that of the process."""

    def __init__(self, test, answer, name=b""):
        Path(os.environ["SLAB_RUNTIME_DIR"], "slab").mkdir(mode=0o700, exist_ok=True)
        self.stream, inner = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            try:
                self.stream.close()
                if name:
                    Path("/proc/self/comm").write_bytes(name)
                self.serve(inner, answer)
            finally:
                os._exit(1)
        inner.close()
        self.listen()
        test.addCleanup(self.end)

    def order(self, what):
        self.stream.send(what)
        self.stream.recv(1)

    def listen(self):
        self.order(b"o")

    def stop_listening(self):
        """Until listen(), no client can connect."""
        self.order(b"c")

    @staticmethod
    def serve(orders, answer):
        signal.alarm(60)
        path, listener, asked = f"{os.environ['SLAB_RUNTIME_DIR']}/slab/{os.getpid()}.sock", None, 0
        while True:
            ready, _, _ = select.select([orders] + [listener] * bool(listener and answer), [], [])
            if orders in ready:
                order = orders.recv(1)
                if order == b"o":
                    listener = socket.socket(socket.AF_UNIX)
                    listener.bind(path)
                    listener.listen(64)
                else:
                    listener.close()
                    listener = None
                    os.unlink(path)
                orders.send(order)
                continue
            stream, _ = listener.accept()
            with stream, contextlib.suppress(ConnectionError):
                request = stream.recv(200).decode().partition("\n")[0].removeprefix("slab/2 ")
                asked += request == "stats"
                if request:
                    stream.sendall(answer(request, asked).encode())

    def end(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.stream.close()
        self.pid = 0


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.environ.update(SLAB_RUNTIME_DIR=folder.name, SLAB_TOOLS="off")

    def set_environment(self, **variables):
        os.environ.update(variables)
        for name in variables:
            self.addCleanup(os.environ.pop, name, None)

    @staticmethod
    def run_slabinfo(*words):
        return subprocess.run([SLABINFO, *words], text=True, capture_output=True, check=False)

    def slabinfo(self, *words, status=0):
        """What it prints on standard output, or, if it fails, as its errors."""
        ran = self.run_slabinfo(*words)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stderr if status == 2 or not ran.stdout else ran.stdout

    def refused(self, words, error, status=2):
        """It does nothing but print this."""
        ran = self.run_slabinfo(*words)
        self.assertEqual((ran.stdout, ran.stderr, ran.returncode), ("", f"slabinfo: {error}\n", status), words)

    @staticmethod
    def look(pid, *requests):
        """The answer to the first; all answers as one text."""
        text = subprocess.run([BUILD / "bin/look", str(pid), *requests], text=True, check=True, stdout=subprocess.PIPE).stdout
        return json.loads(text) if len(requests) == 1 else text

    def valid(self, documents, status=0, where="", how="closed"):
        """Whether they are as docs/schema says, or wrong at that place; "closed": and have no member that it does not
        describe."""
        ran = subprocess.run(["/usr/bin/python3", SOURCE / "tests/tools/validate.py",
                              SOURCE / "docs/schema/slabinfo.schema.json", how], input=documents, text=True, check=False,
                             stdout=subprocess.PIPE)
        if ran.returncode != 77:
            self.assertEqual(ran.returncode, status, ran.stdout + documents)
            self.assertIn(where, ran.stdout)

    def has(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)


class FilesCase(Case):
    """In a folder of its own, in which files have names that are always the same; times are those of UTC."""

    def setUp(self):
        super().setUp()
        os.chdir(self.folder)
        os.environ["TZ"] = "UTC"
        self.addCleanup(os.chdir, "/")

    def golden(self, name, got):
        path = SOURCE / "tests/tools/golden" / name
        if os.environ.get("GOLDEN_WRITE"):
            path.write_text(got, encoding="utf-8")
        self.assertEqual(got, path.read_text(encoding="utf-8"))


def write(name, text):
    Path(name).write_text(text, encoding="utf-8")


def read(name):
    return Path(name).read_text(encoding="utf-8")


# --- what slabinfo prints, taken apart ---

def line_with(text, words):
    """The first one."""
    return next((line for line in text.splitlines() if words in line), "")


def table_of(text):
    """The lines of the table: what is below it is left out."""
    return text.partition("\n\n")[0].splitlines()


def row_of(text, name):
    """The columns of the row of cache `name`."""
    return next((line.split() for line in text.splitlines() if line.split()[:1] == [name]), [])


def cache_of(document, name):
    return next(cache for cache in document["caches"] if cache["name"] == name)
