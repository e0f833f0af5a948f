# SPDX-License-Identifier: MIT
"""Processes that are watched: resident memory ten times a second, from outside.

Resident is bench.resident(): Anonymous less LazyFree of /proc/PID/smaps_rollup. What libslab
holds is read by slabinfo.
"""
import json
import os
import signal
import subprocess
import threading
import time

import bench

SAMPLE_S = 0.1
SLABINFO_LIMIT_S = 30


class Failed(Exception):
    """A process did not do what it was asked for; the text says why."""


def slab_bytes(slabinfo, environment, pid):
    """Bytes of a process's slabs, of those that CPUs own, and of the objects in use."""
    try:
        ran = subprocess.run([slabinfo, "--pid", str(pid), "--json"], env=environment, text=True,
                             capture_output=True, timeout=SLABINFO_LIMIT_S, check=True)
    except subprocess.CalledProcessError as error:
        raise Failed(f"slabinfo: {error.stderr.strip()}") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"slabinfo: stopped after {SLABINFO_LIMIT_S} seconds") from None
    except OSError as error:
        raise Failed(f"{slabinfo}: {error.strerror}") from None
    found = {"slabs": 0, "owned by CPUs": 0, "objects in use": 0}
    for cache in json.loads(ran.stdout)["caches"]:
        found["slabs"] += cache["slab_bytes"]
        # Slabs of a cache differ in size; those of CPUs count with the mean.
        if cache["slabs"]:
            found["owned by CPUs"] += cache["slab_bytes"] * cache["cpu_slabs"] // cache["slabs"]
        found["objects in use"] += cache["objects"] * cache["object_size"]
    return found


class Watched:
    """One process: its samples [(seconds, bytes)], its marks and its other numbers; `series`
    has what else is known of a moment: {name: [(seconds, value)]}.
    """

    def __init__(self, contestant, case, turn, arguments, limit_s, program=None):
        self.contestant, self.case, self.turn = contestant.name, case, turn
        self.samples, self.marks, self.numbers, self.series = [], {}, {}, {}
        self.rate = None
        self.begin = time.monotonic()
        self.over = False
        self.process = subprocess.Popen(
            [program or contestant.program] + arguments, env=contestant.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        self.timer = threading.Timer(limit_s, self.kill)
        self.timer.daemon = True
        self.timer.start()
        self.limit_s = limit_s

    def seconds(self):
        return time.monotonic() - self.begin

    def sample(self):
        try:
            self.samples.append((self.seconds(), bench.resident(self.process.pid)))
        except (OSError, KeyError):
            self.over = True  # it has ended
        return self.samples[-1][1] if self.samples else 0

    def mark(self, name):
        """Remember when it got there, and what was resident then."""
        self.marks[name] = (self.seconds(), self.sample())

    def add(self, name, value):
        """Remember what is true now of something else."""
        self.series.setdefault(name, []).append((self.seconds(), value))

    def line(self):
        """The next thing it says."""
        line = "\n"
        while line == "\n":
            line = self.process.stdout.readline()
        if line:
            return line.split(None, 1)[0], line.strip().partition(" ")[2]
        error = self.process.stderr.read().strip()
        status = self.process.wait()
        if status == -signal.SIGKILL and self.seconds() >= self.limit_s:
            error = f"stopped after {self.limit_s:.0f} seconds"
        raise Failed(error.splitlines()[-1] if error else f"it ended with status {status}")

    def expect(self, name):
        """Read until it says this; the numbers that it says before are kept."""
        while True:
            word, rest = self.line()
            if word == name:
                self.mark(name)
                return
            self.numbers[word] = rest

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self):
        self.over = True
        self.timer.cancel()
        self.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


class Sampler(threading.Thread):
    """Samples all processes that it was given until they are over."""

    def __init__(self):
        super().__init__(daemon=True)
        self.watched = []

    def add(self, watched):
        self.watched = [w for w in self.watched if not w.over] + [watched]

    def run(self):
        while True:
            due = time.monotonic() + SAMPLE_S
            for watched in self.watched:
                if not watched.over:
                    watched.sample()
            time.sleep(max(due - time.monotonic(), 0))

    def end_all(self):
        for watched in self.watched:
            if not watched.over:
                watched.end()
