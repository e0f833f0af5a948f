# SPDX-License-Identifier: MIT
"""The clients of a case, and what is read of the server meanwhile: CPU time, memory, samples."""
import json
import os
import subprocess
import threading
import time

import bench
import cases
import samples
import servers

CLIENT_LIMIT_S = 600
SAMPLE_S = 0.5
PERCENTILES = ("p50", "p90", "p99", "p99.9")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """An ldapload, for a with statement."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def said(self):
        """What it has measured, once it has ended."""
        try:
            out, error = self.process.communicate(timeout=CLIENT_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise servers.Failed("the server or ldapload does not answer") from None
        if not out:
            raise servers.Failed(error.strip() or f"ldapload: status {self.process.returncode}")
        found = json.loads(out)
        if found["unexpected"]:
            wrong = next((o for o in found["outcomes"] if o["unexpected"]), None)
            raise servers.Failed(f"{found['unexpected']} operations or connections failed: "
                                 + (f"{wrong['kind']}: {wrong['name']}" if wrong else "idle ones"))
        return found


def answered(found):
    return sum(o["count"] for o in found["outcomes"] if o["kind"] != "connect")


class Memory(threading.Thread):
    """Anonymous memory of a process, [(seconds, bytes)]: until `end`, seconds after the load."""

    def __init__(self, pid, idle_s):
        super().__init__(daemon=True)
        self.pid, self.idle_s = pid, idle_s
        self.samples, self.last_loaded = [], None
        self.begin, self.end = time.monotonic(), None
        self.start()

    def sample(self):
        self.samples.append((time.monotonic() - self.begin, bench.resident(self.pid)))

    def run(self):
        try:
            while self.end is None or time.monotonic() < self.end:
                self.sample()
                time.sleep(SAMPLE_S)
            self.sample()
        except (OSError, KeyError):
            pass  # the server has ended

    def load_ends(self):
        """The last sample is the last one under load."""
        self.last_loaded = len(self.samples) - 1
        self.end = time.monotonic() + self.idle_s

    def found(self):
        self.join()
        loaded = [value for _, value in self.samples[:self.last_loaded + 1]]
        return {"start": loaded[0], "peak": max(loaded), "end": loaded[-1],
                "after": self.samples[-1][1]}


class Load:
    """A case on a server: what was found is in `found`."""

    def __init__(self, run, name):
        self.run, self.case, self.settings = run, cases.CASES[name], run.settings
        self.pid, self.entries = run.process.pid, run.server.entries
        self.command = cases.client(self.settings, run.port)
        self.main = self.command + cases.options(self.case, self.settings, self.entries)
        self.found = {}

    def searches(self):
        """One client; resident memory is read near the end."""
        before = cpu_seconds(self.pid)
        with Client(self.main) as client:
            time.sleep(self.settings.warm_up + self.settings.seconds * 0.8)
            self.found["resident"] = bench.resident(self.pid)
            self.keep(client.said(), before)

    def mix(self):
        """Two clients; the memory goes on being watched."""
        memory = Memory(self.pid, self.settings.idle_s)
        try:
            self.both()
        finally:
            memory.load_ends()
        return memory

    def share(self, folder):
        """Two clients beside perf."""
        with samples.Perf(self.pid, folder) as perf:
            self.both()
        self.found["share"] = perf.share()

    def both(self):
        before = cpu_seconds(self.pid)
        main = self.main + cases.mix_options(servers.ROOT, servers.PASSWORD)
        large = self.command + cases.large_options(self.case, self.settings)
        with Client(large) as beside, Client(main) as client:
            said = client.said()
            self.keep(said, before)
            beside.said()

    def keep(self, said, before):
        cpu = cpu_seconds(self.pid) - before
        self.found["rate"] = said[self.case.unit]["per_second"]
        self.found["cpu"] = cpu / max(answered(said), 1) * 1e6
        for metric in PERCENTILES:
            self.found[metric] = said["all"][metric + "_us"]
