# SPDX-License-Identifier: MIT
"""bpftrace: whether it can work here, a program of probes, and the maps that it counted."""
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import time

from . import target as targets
from .failure import Failure

START_SECONDS = 30
UPROBES = "/sys/bus/event_source/devices/uprobe"
# bpftrace sets probes in the order of the program, or backwards: the program begins and ends with a
# timer, and all probes are set when both have run.
READY = ("slab-perf first", "slab-perf last")
STOP_SECONDS = 0.2


def check():
    """Raise a Failure that says what is missing."""
    if not shutil.which("bpftrace"):
        raise Failure("bpftrace is missing: install the package bpftrace")
    if os.geteuid() != 0:
        raise Failure("the probes need root: the kernel lets no other user set uprobes")
    if not os.path.isdir(UPROBES):
        raise Failure(f"this kernel has no uprobes: {UPROBES} is missing")


def program(files, pid, blocks):
    """blocks: [(probe, condition or "", body)]. Only events of one process count."""
    first, last = (f'interval:ms:10 /!@{mark.split()[1]}/ {{ @{mark.split()[1]} = 1; '
                   f'printf("{mark}\\n"); }}' for mark in READY)
    for file in files:
        if re.search(r'["\\:*?{}\s]', file):
            raise Failure(f"bpftrace cannot name the file '{file}': it must have no spaces, "
                          "colons or wildcards")
    text = [first]
    for probe, condition, body in blocks:
        where = ",\n".join(f"usdt:{file}:libslab:{probe}" for file in files)
        only = f"pid == {pid}" + (f" && {condition}" if condition else "")
        text.append(f"{where} /{only}/ {{ {body} }}")
    return "\n".join([*text, last])


class Tracer:
    """A bpftrace that runs a program."""

    def __init__(self, text, options):
        self.output = b""
        self.process = subprocess.Popen(
            ["bpftrace", "-q", "-f", "json", *options, "-e", text], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "BPFTRACE_MAP_KEYS_MAX": "65536"})
        self._wait_until_ready()

    def _fail(self):
        self.process.kill()
        _, errors = self.process.communicate()
        lines = [line for line in errors.decode(errors="replace").splitlines()
                 if line.strip() and "RLIMIT_MEMLOCK" not in line]
        raise Failure("bpftrace cannot set the probes: " + (lines[0] if lines else "no reason given"))

    def _wait_until_ready(self):
        end = time.monotonic() + START_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not all(mark.encode() in self.output for mark in READY):
                if not selector.select(max(0, end - time.monotonic())):
                    self._fail()
                part = os.read(self.process.stdout.fileno(), 65536)
                if not part:
                    self._fail()
                self.output += part

    def is_running(self):
        return self.process.poll() is None

    def _stop(self):
        """bpftrace misses a signal just before it waits. SIGTERM may come again while it prints."""
        while True:
            self.process.send_signal(signal.SIGTERM)
            try:
                return self.process.communicate(timeout=STOP_SECONDS)[0]
            except subprocess.TimeoutExpired:
                pass

    def finish(self):
        """Stop counting. Returns {map: {key: number}}."""
        rest = self._stop()
        if self.process.returncode:
            raise Failure(f"bpftrace ended early, with status {self.process.returncode}")
        maps = {}
        for line in (self.output + rest).decode(errors="replace").splitlines():
            message = json.loads(line) if line.startswith("{") else {}
            if message.get("type") == "map":
                maps.update({name[1:]: counts for name, counts in message["data"].items()
                             if isinstance(counts, dict)})
        return maps


def trace(options, blocks):
    """Watch the target of the command line. Returns the target, the seconds and the maps."""
    check()
    target = targets.of(options)
    try:
        text = program(targets.probe_files(target), target.pid, blocks)
        tracer = Tracer(text, target.bpftrace_options())
        target.start()
        try:
            seconds = targets.watch(target, options.seconds, tracer.is_running)
        finally:
            maps = tracer.finish()
    finally:
        target.stop()
    return target, seconds, maps
