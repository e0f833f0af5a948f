# SPDX-License-Identifier: MIT
"""The clients of servers, and what is read of a server meanwhile: CPU time and memory."""
import csv
import io
import json
import os
import subprocess
import threading
import time

import bench
from runner import Failed

LIMIT_S = 900
SAMPLE_S = 0.2
PERCENTILES = ("p50", "p90", "p99", "p99.9")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Memory(threading.Thread):
    """Anonymous memory of a process over time, for a with statement: [(seconds, bytes)]."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.over, self.begin, self.samples = pid, threading.Event(), time.monotonic(), []

    def sample(self):
        self.samples.append((time.monotonic() - self.begin, bench.resident(self.pid)))
        return self.samples[-1][1]

    def run(self):
        try:
            while not self.over.wait(SAMPLE_S):
                self.sample()
        except (OSError, KeyError):
            pass  # the server has ended

    def __enter__(self):
        self.sample()
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def figures(self):
        values = [value for _, value in self.samples]
        half = [value for s, value in self.samples if s > self.samples[-1][0] / 2]
        yield from (("start", values[0]), ("peak", max(values)), ("end", values[-1]), ("growth", bench.growth(half)))


class Ldapload:
    """An ldapload, for a with statement."""

    def __init__(self, build, port, *words):
        self.process = subprocess.Popen(
            [os.path.join(build, "bin", "ldapload"), "--uri", f"ldap://127.0.0.1:{port}", "--json", *map(str, words)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def said(self):
        """What it has measured, once it has ended."""
        try:
            out, error = self.process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failed("the server or ldapload does not answer") from None
        if not out:
            raise Failed(error.strip() or f"ldapload: status {self.process.returncode}")
        found = json.loads(out)
        if found["unexpected"]:
            wrong = next((o for o in found["outcomes"] if o["unexpected"]), {"kind": "idle", "name": "connections"})
            raise Failed(f"{found['unexpected']} operations or connections failed: {wrong['kind']}: {wrong['name']}")
        return found


def answered(found):
    return sum(o["count"] for o in found["outcomes"] if o["kind"] != "connect")


def ldap_figures(found, cpu, unit="all"):
    """Of what ldapload says; `cpu`: seconds of the server's."""
    yield "rate", found[unit]["per_second"]
    yield "cpu", cpu / max(answered(found), 1)
    yield from ((metric, found["all"][metric + "_us"] * 1e-6) for metric in PERCENTILES)


def redis_figures(program, port, operations, entries, pid):
    """redis-benchmark with one test after the other."""
    before = cpu_seconds(pid)
    ran = subprocess.run([program, "-p", str(port), "-c", "32", "-n", str(operations), "-r", str(entries), "-d", "200",
                          "-t", "set,get,incr,lpush,lpop,sadd,hset", "--csv"],
                         text=True, capture_output=True, check=False, timeout=LIMIT_S)
    if ran.returncode:
        raise Failed(f"redis-benchmark: {ran.stderr.strip() or ran.returncode}")
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    seconds = sum(operations / float(row["rps"]) for row in rows)
    yield "rate", operations * len(rows) / seconds
    yield "cpu", (cpu_seconds(pid) - before) / (operations * len(rows))
    yield "p99", max(float(row["p99_latency_ms"]) for row in rows) * 1e-3
