# SPDX-License-Identifier: MIT
"""The table of OpenLDAP ITS#3835: four forms of a server's listener, beside slapd and ns-slapd; then ldapd
on libslab and on other allocators.
"""
import os
import sys
import tempfile
import time

import bench
import preload
import runner
from runner import Contestant, Failed, Goal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "servers"))
import loads  # noqa: E402
import servers  # noqa: E402

QUESTION = "four forms of a server's listener: idle connections, stalls, accepts; the same server on other allocators"
SECONDS = (8, 1400)
ROUNDS = (1, 3)
OPTIONS = {"seconds": (1, 5, "of a measurement"), "connections": (100, 100, "that search"),
           "idle": (4000, 4000, "idle connections")}
METRICS = {"rate": "op/s", "cpu": "µs", "p50": "µs", "p90": "µs", "p99": "µs", "p99.9": "µs", "start": "MiB",
           "peak": "MiB", "end": "MiB", "idle": "MiB", "growth": "%", "share": "%"}
CASES = {
    "busy": "searches", "idle": "the same, beside idle connections", "short": "10 searches per connection",
    "stall": "the same, with a stall of 2 s in 1 of 100 accepts", "accept": "1 search per connection: connections",
    "mix": "a mix of operations", "share": "the mix, sampled by perf",
}
ALLOCATORS = ("mix", "share")
FORMS = ("inline", "handoff", "accept-thread", "multi")
SHORT = {"cases": "^busy$", "contestants": "inline,multi"}
SHOWN = ("multi", "handoff", "accept-thread", "inline", "slab")
RIVALS = ("slapd", "ns-slapd", *preload.RIVALS)
# A ratio below 1 is better: 1 / that of the operations per second.
GOALS = [Goal(case, "rate", limit, (against, other), ours=ours) for ours, case, against, other, limit in (
    ("handoff", "busy", "inline", "busy", 1), ("handoff", "idle", "inline", "idle", 1 / 1.3),
    ("handoff", "idle", "handoff", "busy", 1 / 0.97), ("handoff", "stall", "handoff", "short", 1 / 0.9),
    ("inline", "short", "inline", "stall", 0.1), ("accept-thread", "accept", "handoff", "accept", 0.2),
    *(("multi", "accept", form, "accept", 1) for form in FORMS[:3]))]
GOALS += [Goal("busy", metric, 1, ours="multi") for metric in ("rate", "p99")]
GOALS += [Goal("mix", metric, 1) for metric in ("rate", "end", "idle")]
GOALS += [Goal("share", "share", 0.5, ("glibc", "share"))]
# What ITS#3835 measured on two CPUs of 2005.
PUBLISHED = [(f"{name} of ITS#3835", case, 0, "rate", value) for case, name, value in (
    ("busy", "inline", 18450), ("busy", "handoff", 18845), ("idle", "inline", 8748), ("idle", "handoff", 11383),
    ("stall", "inline", 505), ("stall", "handoff", 10659), ("stall", "accept-thread", 806),
    ("accept", "handoff", 510), ("accept", "accept-thread", 5230))]
PER_CONNECTION = {"short": 10, "stall": 10, "accept": 1, "mix": 100, "share": 100}
LONGER = {"stall": 3, "mix": 4, "share": 2}  # times the seconds
WARM_UP, IDLE_S, DESCRIPTORS, CPUS_PER_THREAD = 1, 15, 16384, 4
# A second client of the mix asks for all entries of one title, ENTRIES / TITLES.
MIX, TITLES = "search=60,base=10,or=10,compare=6,modify=8,add=6", 40
READ_FOR_ALL = ('aci: (targetattr="*")(version 3.0; acl "read"; allow (read, search, compare) '
                'userdn="ldap:///anyone";)\n')
WORK = servers.work_folder("listener")


class Ldapd(servers.Server):
    """ldapd of this build, or ldapd-malloc."""

    def __init__(self, program, form, build):
        self.program, self.form, self.build = program, form, build
        super().__init__("", WORK.name)
        self.ldif = os.path.join(self.work, "entries.ldif")

    def find(self, program):
        return os.path.join(self.build, "bin", program)

    def is_unpacked(self):
        return False

    def prepare(self, environment):
        if not os.path.exists(self.ldif):
            self.write_entries(self.ldif)

    def command(self, folder, port):
        return [self.path, "--listen", f"ldap://127.0.0.1:{port}", "--listener", self.form, "--suffix",
                servers.SUFFIX, "--ldif", self.ldif, "--fsync", "no", "--index", "uid", "--index",
                "title", "--rootDN", servers.ROOT, "--rootPassword", servers.PASSWORD,
                "--maxConnections", str(DESCRIPTORS)]


class NsSlapd(servers.NsSlapd):
    """389-ds with one listener thread, which grants the right to search as the other servers do."""

    SETTINGS = dict(servers.NsSlapd.SETTINGS)
    SETTINGS["cn=config"] += (f"nsslapd-maxdescriptors: {DESCRIPTORS}",)

    def write_entries(self, path):
        super().write_entries(path)
        with open(path, encoding="utf-8") as file:
            suffix, rest = file.read().split("\n\n", 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{suffix}\n{READ_FOR_ALL}\n{rest}")


class Listener(Contestant):
    """A server with a form of a listener, or ldapd on an allocator."""

    def __init__(self, name, build):
        super().__init__(name, sys.executable)
        self.malloc = name if name in preload.RIVALS else None
        self.compares_forms = name in FORMS or name in ("slapd", "ns-slapd")
        self.server = self.make(name, build)

    def make(self, name, build):
        kind = {"slapd": servers.Slapd, "ns-slapd": NsSlapd}.get(name)
        if kind:
            return kind(os.path.join(os.path.abspath(build), "servers"), WORK.name)
        return Ldapd("ldapd-malloc" if self.malloc else "ldapd", name if name in FORMS else "multi", build)

    def prepare(self, build, runtime):
        self.environment = bench.plain_environment(runtime)
        if self.malloc:
            self.malloc = preload.Contestant(self.name, build, runtime)
            self.environment = dict(self.malloc.environment)
        why = self.server.missing() or (self.malloc and self.malloc.missing())
        if not why:
            servers.limit_descriptors(DESCRIPTORS)
            self.server.prepare(bench.plain_environment(runtime))
        return why


def contestants(build):
    return [Listener(name, build) for name in (*FORMS, "slapd", "ns-slapd", "slab", *preload.RIVALS)]


def measure(contestant, cases, run):
    case, server = cases[0], contestant.server
    if (case in ALLOCATORS) == contestant.compares_forms or (case == "stall" and contestant.name not in FORMS) or \
            (case == "share" and loads.why_not()):
        return
    port = servers.free_port()
    with tempfile.TemporaryDirectory(dir=WORK.name) as folder:
        command = server.command
        if case == "stall":
            server.command = lambda *where: command(*where) + ["--acceptDelay", "100:2000"]
        try:
            process = server.start(contestant.environment, folder, port)
        finally:
            server.command = command
        try:
            if contestant.malloc and not contestant.malloc.is_in(process.pid):
                raise Failed(f"{contestant.malloc.library} is not in the server")
            how = {"mix": mix, "share": share}.get(case, searches)
            yield from ((case, 0, *figure) if figure is not runner.IDLE else figure
                        for figure in how(case, server, process.pid, port, run, folder))
        finally:
            servers.stop(process)


def words_of(case, server, run):
    connections = run.options["connections"]
    threads = min(max(len(os.sched_getaffinity(0)) // CPUS_PER_THREAD, 1), connections)
    words = ["--warm-up", WARM_UP, "--base", f"ou=People,{servers.SUFFIX}", "--connections", connections,
             "--threads", threads, "--seconds", run.options["seconds"] * LONGER.get(case, 1),
             "--values", f"user%u:0-{server.entries - 1}"]
    if case == "idle":
        words += ["--idle", run.options["idle"]]
    if case in PER_CONNECTION:
        words += ["--per-connection", PER_CONNECTION[case]]
    return words


def searches(case, server, pid, port, run, _folder):
    before = loads.cpu_seconds(pid)
    with loads.Ldapload(run.build, port, *words_of(case, server, run)) as client:
        time.sleep(WARM_UP + run.options["seconds"] * 0.8)
        yield "end", bench.resident(pid)
        said = client.said()
    yield from loads.ldap_figures(said, loads.cpu_seconds(pid) - before, "connect" if case == "accept" else "all")


def both(case, server, pid, port, run):
    """The mix of the root's name, and beside it the client of large results."""
    before = loads.cpu_seconds(pid)
    words = words_of(case, server, run) + ["--bind-dn", servers.ROOT, "--password", servers.PASSWORD, "--mix", MIX]
    large = ["--warm-up", WARM_UP, "--base", f"ou=People,{servers.SUFFIX}", "--connections", 4, "--rate", 20,
             "--seconds", run.options["seconds"] * LONGER[case], "--attribute", "title",
             "--values", f"Engineer %u:0-{TITLES - 1}"]
    with loads.Ldapload(run.build, port, *large) as beside, loads.Ldapload(run.build, port, *words) as client:
        said = client.said()
        found = list(loads.ldap_figures(said, loads.cpu_seconds(pid) - before))
        beside.said()
    return found


def mix(case, server, pid, port, run, _folder):
    with loads.Memory(pid) as memory:
        yield from both(case, server, pid, port, run)
        yield from memory.figures()
        due = time.monotonic() + IDLE_S
        yield runner.IDLE
        time.sleep(max(due - time.monotonic(), 0))
        yield "idle", memory.sample()


def share(case, server, pid, port, run, folder):
    with loads.Perf(pid, folder) as perf:
        both(case, server, pid, port, run)
    yield "share", perf.share() * 100
