# SPDX-License-Identifier: MIT
"""Servers with libslab in malloc's place, and with typed caches on it. A case is a server; README.md says how
each is loaded.
"""
import os
import subprocess
import sys
import tempfile
import time

import bench
import loads
import preload
import runner
import servers
from runner import Contestant, Failed, Goal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "servers"))
import ds389  # noqa: E402

QUESTION = "slapd and ns-slapd with libslab in malloc's place, and with typed caches"
SECONDS = (40, 5400)
ROUNDS = (1, 5)
OPTIONS = {"operations": (20000, 300000, "of a measurement")}
METRICS = {"rate": "op/s", "cpu": "µs", "p50": "µs", "p90": "µs", "p99": "µs", "p99.9": "µs", "start": "MiB",
           "peak": "MiB", "end": "MiB", "idle": "MiB", "growth": "%", "share": "%"}
CURVES = ("at",)
CASES = {
    "slapd": "OpenLDAP of Debian", "ns-slapd": "389-ds of Debian",
    "slapd-source": "OpenLDAP of ./run server, with types and without",
    "ns-slapd-source": "389-ds of ./run server, with types and without",
}
SHORT = {"cases": "^slapd$", "contestants": "slab,glibc"}
GOALS = [Goal(case, metric, limit) for case in ("slapd", "ns-slapd")
         for metric, limit in (("rate", 1), ("cpu", 1), ("start", 1), ("peak", 1), ("end", 1), ("idle", 0.6))]
GOALS += [Goal(case, metric, limit, ours="slab-typed") for case in ("slapd-source", "ns-slapd-source")
          for metric, limit in (("cpu", 0.95), ("rate", 1), ("end", 1), ("idle", 0.8))]
GOALS += [Goal(case, "share", 0.7, ("jemalloc", case), ours="slab-typed")
          for case in ("slapd-source", "ns-slapd-source")]
SHOWN = ("slab", "slab-typed")
TYPED = "slab-typed"
MIX = "search=60,base=10,or=10,compare=6,modify=8,add=6"
IDLE_S, PERF_HZ = 15, 499
WORK = servers.work_folder("servers")
READY = {}  # servers with their data


class Beneath(Contestant):
    """An allocator beneath a server, with typed caches or without."""

    def __init__(self, name):
        super().__init__(name, sys.executable)
        self.malloc, self.typed = None, name == TYPED

    def prepare(self, build, runtime):
        self.malloc = preload.Contestant("slab" if self.typed else self.name, build, runtime)
        # What dirsrv/docs/directory-servers.md tells users to set: the thread that returns idle memory.
        self.environment = dict(self.malloc.environment, SLAB_CONTROL="on")
        self.allocator = self.malloc.library or ""
        return self.malloc.missing()


def contestants(_build):
    return [Beneath(name) for name in ("slab", TYPED, *preload.RIVALS)]


class Compiled:
    """A server as ./run server has compiled it; mixed into one of servers.py."""

    source, binary = None, ()  # its name for ./run server; where the program is

    def __init__(self, typed, build, work):
        self.typed = typed
        self.built = os.path.join(os.path.abspath(build), "servers", self.source + ("" if typed else "-plain"))
        super().__init__("", os.path.join(work, self.source, "typed" if typed else "plain"))

    def find(self, _program):
        path = os.path.join(self.built, *self.binary)
        return path if os.access(path, os.X_OK) else None

    def missing(self):
        options = "--build" if self.typed else "--plain --build"
        return None if self.path else f"it is not compiled; ./run server {self.source} {options}"

    def is_unpacked(self):
        return False


class Slapd(Compiled, servers.Slapd):
    """OpenLDAP's."""

    source, binary = "openldap", ("build", "servers", "slapd", "slapd")

    def schema(self):
        return os.path.join(self.built, "source", "servers", "slapd", "schema")

    def modules(self):
        """None: mdb is part of the program."""
        return ""


class NsSlapd(Compiled, servers.NsSlapd):
    """389-ds's, in a prefix of its own."""

    source, binary = "389", ("prefix", "sbin", "ns-slapd")

    def data(self):
        return os.path.join(self.built, "prefix", "share", "dirsrv", "data")

    def etc(self):
        return os.path.join(self.built, "prefix", "etc", "dirsrv")

    def adapted(self, text, _folder):
        return ds389.without_absent(text)


def unpacked(kind, build):
    """A server of Debian, which need not be installed."""
    folder = os.path.join(os.path.abspath(build), "servers")
    subprocess.run(["sh", os.path.join(HERE, "unpack"), folder, kind.package], check=False)
    return kind(folder, WORK.name)


def make(case, typed, build):
    kind = {"slapd": servers.Slapd, "ns-slapd": servers.NsSlapd}.get(case)
    if kind:
        return unpacked(kind, build)
    return {"slapd-source": Slapd, "ns-slapd-source": NsSlapd}[case](typed, build, WORK.name)


def ready(case, contestant, run):
    """The server of a case, with its data."""
    key = case, contestant.typed and case.endswith("source")
    if key not in READY:
        servers.limit_descriptors()
        READY[key] = make(*key, run.build)
        if not READY[key].missing():
            READY[key].prepare(bench.plain_environment(WORK.name))
    if READY[key].missing():
        raise Failed(READY[key].missing())
    return READY[key]


def measure(contestant, cases, run):
    case = cases[0]
    if contestant.typed and not case.endswith("-source"):
        return
    server, port = ready(case, contestant, run), servers.free_port()
    with tempfile.TemporaryDirectory(dir=WORK.name) as folder:
        process = server.start(contestant.environment, folder, port)
        try:
            if not contestant.malloc.is_in(process.pid):
                raise Failed(f"{contestant.malloc.library} is not in the server")
            with loads.Memory(process.pid) as memory:
                yield from ((case, 0, *figure) for figure in load(server, process.pid, port, folder, run))
                memory.sample()
                yield from ((case, 0, *figure) for figure in memory.figures())
            due = time.monotonic() + IDLE_S
            yield runner.IDLE
            time.sleep(max(due - time.monotonic(), 0))
            yield case, 0, "idle", memory.sample()
            yield from ((case, int(s) + 1, "at", value) for s, value in memory.samples)
        finally:
            servers.stop(process)


def load(server, pid, port, folder, run):
    words = ["--connections", 32, "--bind-dn", servers.ROOT, "--password", servers.PASSWORD, "--mix", MIX, "--base",
             f"ou=People,{servers.SUFFIX}", "--values", f"user%u:0-{server.entries - 1}", "--operations",
             run.options["operations"]]
    before = loads.cpu_seconds(pid)
    with loads.Ldapload(run.build, port, *words) as client:
        if loads.why_not() is None and not run.quick:  # a quick run has too few samples
            with loads.Perf(pid, folder, PERF_HZ) as perf:
                said = client.said()
            yield "share", perf.share() * 100
        else:
            said = client.said()
        yield from loads.ldap_figures(said, loads.cpu_seconds(pid) - before)
