# SPDX-License-Identifier: MIT
"""Run the servers' benchmark: every contestant, interleaved, several rounds.

A round starts each server once with each contestant's library in malloc's place, with fresh data.
The client sends a fixed number of operations; the runner watches the server from outside.
"""
import argparse
import contextlib
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "benchmarks", "support"))
import bench  # noqa: E402
import chart  # noqa: E402
import preload  # noqa: E402
import report  # noqa: E402
import samples  # noqa: E402
import servers  # noqa: E402
import typed  # noqa: E402

IDLE_S = 15
ROUNDS = 5
SAMPLE_S = 0.1
CLIENT_LIMIT_S = 7200
SAMPLES_HZ = 499  # of perf; the load lasts long enough for some thousand samples
DEFAULT = "slab,glibc,jemalloc,tcmalloc,mimalloc"
REPLACED = report.Mode("servers", "Servers: libslab in the place of malloc", report.GOALS, chart.svg)

SERVERS_HELP = """All servers take about 40 minutes with five contestants, with --quick 6 minutes.
Results: build/bench/servers.md, servers.svg and servers.csv.

--typed compares slapd and ns-slapd with typed caches (servers/README.md) and without them, each on
every allocator: about 60 minutes, with --quick 10, and some minutes for compiling slapd before the
first run. A third server, ns-slapd-source, takes part when it was compiled: ./run server 389 --build,
and ./run server 389 --preload --build. Results: build/bench/servers-typed.md, .svg and .csv.

--constructors, alone: how long ns-slapd takes for what constructors of typed caches would make once;
two minutes, a table on stdout.

Packages of servers that are not installed are unpacked in build/servers; nothing is installed, and
servers of the system stay as they are.
"""


def make_parser():
    parser = bench.Parser("servers", "Real servers with libslab in the place of malloc, by "
                          "LD_PRELOAD: operations a second,\nCPU time, latencies, memory.")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = SERVERS_HELP
    parser.add_argument("--typed", action="store_true",
                        help="servers with typed caches and without, on each allocator")
    parser.add_argument("--quick", action="store_true", help="1 round of few operations")
    parser.add_argument("--rounds", help=f"processes per contestant and server (default {ROUNDS})")
    parser.add_argument("--times", help="multiply the measured operations, for a longer curve "
                        "(default 1)")
    parser.add_argument("--idle", help="seconds of idle time after which memory is read again "
                        f"(default {IDLE_S})")
    parser.add_argument("--cases", metavar="REGEX",
                        help="of " + " ".join(server.name for server in servers.ALL))
    parser.add_argument("--contestants", metavar="LIST", help="of " + ",".join(preload.ALL) +
                        f" (default {DEFAULT})")
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    return parser


class Contestant(preload.Contestant):
    """A library that programs start with."""

    def why_not(self):
        if self.missing():
            return self.missing()
        ran = subprocess.run(["ls", "/"], env=self.environment, capture_output=True, check=False)
        return None if ran.returncode == 0 else "ls does not run with it"


def status_bytes(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise OSError(f"no {name}")


def cpu_and_faults(pid):
    """Seconds of CPU time and minor faults of a process, without its children."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(words[11]) + int(words[12])) / ticks, int(words[7])


class Sampler(threading.Thread):
    """[(seconds, RssAnon)] of a process until it is over."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.samples, self.over = pid, [], False
        self.start()

    def sample(self):
        self.samples.append((time.monotonic(), status_bytes(self.pid, "RssAnon")))

    def run(self):
        try:
            while not self.over:
                self.sample()
                time.sleep(SAMPLE_S)
        except OSError:
            pass  # it has ended


class Client:
    """servers-load until it has done all: its figures, and when it had done how much."""

    def __init__(self, program, server, port, phase, operations, turn):
        command = [program, server.protocol, str(port), phase, str(operations),
                   str(server.connections), str(server.entries), str(turn + 1)]
        self.done, self.found, self.error = [(time.monotonic(), 0.0)], {}, ""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        timer = threading.Timer(CLIENT_LIMIT_S, process.kill)
        timer.start()
        try:
            for line in process.stdout:
                self.read(line.split(), operations)
            error = process.stderr.read().strip()
        finally:
            timer.cancel()
            process.kill()
            process.wait()
        self.done.append((time.monotonic(), 1.0))
        if "seconds" not in self.found:
            raise servers.Failed(error or "the client was stopped")
        if self.error:
            raise servers.Failed(f"{self.found['errors']:.0f} errors, the first: {self.error}")

    def read(self, words, operations):
        if words[0] == "done":
            self.done.append((time.monotonic(), int(words[1]) / operations))
        elif words[0] == "latency":
            for name, value in zip(("count", "p50", "p90", "p99", "max"), words[2:]):
                self.found[f"{words[1]}.{name}"] = float(value)
        else:
            self.found[words[0]] = float(words[1])
            self.error = " ".join(words[2:])


class Run:
    """One server with one contestant: `found` has its figures, `curve` [(share, bytes)].

    After run() the server goes on without a request until stop(); rest() waits for the idle time.
    """

    def __init__(self, server, contestant, turn, client, idle_s, sampled):
        self.server, self.contestant, self.turn = server, contestant, turn
        self.client, self.idle_s, self.sampled = client, idle_s, sampled
        self.found, self.curve = {}, []
        self.process, self.folder, self.loaded = None, None, None

    def run(self, work):
        self.folder = tempfile.mkdtemp(dir=work)
        port = servers.free_port()
        self.process = self.server.start(self.contestant.environment, self.folder, port)
        sampler = Sampler(self.process.pid)
        try:
            if not self.contestant.is_in(self.process.pid):
                raise servers.Failed(f"{self.contestant.library} is not in the server")
            self.found["start"] = bench.resident(self.process.pid)
            self.load(self.process.pid, port, self.folder, sampler)
        except OSError as error:
            raise servers.Failed(f"it has ended: {error}") from None
        finally:
            sampler.over = True
        self.loaded = time.monotonic()

    def rest(self):
        """Memory after the idle time."""
        time.sleep(max(0, self.loaded + self.idle_s - time.monotonic()))
        if self.process.poll() is not None:
            raise servers.Failed(f"it ended with status {self.process.returncode}")
        if self.idle_s:
            self.found["idle"] = bench.resident(self.process.pid)

    def stop(self):
        if self.process:
            servers.stop(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def load(self, pid, port, folder, sampler):
        """The last phase is the measured one."""
        *earlier, (phase, operations) = self.server.operations()
        for name, count in earlier:
            Client(self.client, self.server, port, name, count, self.turn)
        with self.perf(pid, folder) as perf:
            before = cpu_and_faults(pid)
            done = Client(self.client, self.server, port, phase, operations, self.turn)
            cpu, faults = cpu_and_faults(pid)
        if perf:
            self.found["share"] = perf.share()
        self.found |= {"time": done.found["seconds"] / operations,
                       "cpu": (cpu - before[0]) / operations, "faults": faults - before[1]}
        self.found |= {name: done.found[f"all.{name}"] / 1e6 for name in ("p50", "p90", "p99", "max")}
        self.found |= {name: value / 1e6 for name, value in done.found.items()
                       if name.endswith(".p99") and not name.startswith("all.")}
        self.found["end"] = bench.resident(pid)
        self.after(done, list(sampler.samples))

    def perf(self, pid, folder):
        """What samples the server while it is measured, or nothing."""
        if not self.sampled:
            return contextlib.nullcontext()
        place = os.path.join(folder, "perf")
        os.mkdir(place)
        return samples.Perf(pid, place, SAMPLES_HZ)

    def after(self, done, memory):
        self.found["peak"] = max([value for _, value in memory] + [self.found["end"]])
        self.curve = stretched(memory, done.done)
        self.found["growth"] = bench.growth([v for share, v in self.curve if share > 0.5])


def stretched(samples, done):
    """[(share of the operations, bytes)] from [(time, bytes)] and [(time, share)]."""
    line, i = [], 0
    for t, value in samples:
        if not done[0][0] <= t <= done[-1][0]:
            continue
        while done[i + 1][0] < t:
            i += 1
        (t0, share0), (t1, share1) = done[i], done[i + 1]
        line.append((share0 + (share1 - share0) * (t - t0) / max(t1 - t0, 1e-9), value))
    return line


class Rounds:
    """All rounds of all groups: [[(server, contestant)]]. A server is idle while the next one is
    measured.
    """

    def __init__(self, groups, args):
        self.groups = groups
        self.rounds, self.settings = args[0], args[1:]
        self.runs, self.failures = [], {}
        self.resting = None
        self.progress = bench.Progress(self.rounds * sum(map(len, groups)), self.rounds)

    def run(self, work):
        try:
            for turn in range(self.rounds):
                for pairs in self.groups:
                    for server, contestant in bench.order(pairs, turn):
                        self.one(turn, server, contestant, work)
            self.finish()
        finally:
            if self.resting:
                self.resting.stop()
            self.progress.end()

    def one(self, turn, server, contestant, work):
        self.progress.show(turn, f"{server.name} {contestant.name}")
        run = Run(server, contestant, turn, *self.settings)
        measured = self.attempt(run, run.run, work)
        self.finish()
        self.resting = run if measured else None

    def finish(self):
        """Of the server that is idle: its memory, and its end."""
        if self.resting and self.attempt(self.resting, self.resting.rest):
            self.runs.append(self.resting)
            self.resting.stop()
        self.resting = None

    def attempt(self, run, action, *values):
        """Did it succeed? If not, the server is stopped."""
        try:
            action(*values)
            return True
        except servers.Failed as error:
            self.failures.setdefault((run.contestant.name, run.server.name), str(error))
            self.progress.say(f"{run.contestant.name} failed in {run.server.name}: {error}")
            run.stop()
            return False
        except BaseException:
            run.stop()
            raise


def replaced_groups(parser, args, times, work, contestants):
    """Each server with each contestant, and messages about what is left out."""
    unpacked = os.path.abspath(os.path.join(args.build, "servers"))
    wanted = parser.cases(args.cases, [server.name for server in servers.ALL])
    made = [kind(unpacked, work, args.quick, times)
            for kind in servers.ALL if kind.name in wanted]
    able, left_out = servers.prepared(parser, made, bench.plain_environment(work))
    return [[(server, contestant) for contestant in contestants] for server in able], left_out


def names_of(groups):
    """Of the contestants, each once."""
    return list(dict.fromkeys(contestant.name for pairs in groups for _, contestant in pairs))


def write(base, found, runs, head, rounds):
    with open(base + ".csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["round", "server", "contestant", "what", "share", "value"])
        for run in runs:
            where = [run.turn + 1, run.server.name, run.contestant.name]
            out.writerows(where + [name, "", f"{value:.9g}"] for name, value in run.found.items())
            out.writerows(where + ["curve", f"{share:.4f}", value] for share, value in run.curve)
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(report.markdown(found, head, rounds))
    with open(base + ".svg", "w", encoding="utf-8") as file:
        file.write(found.mode.svg(found, head[0]))


def main():
    parser = make_parser()
    args = parser.parse_args()
    rounds = parser.number("--rounds", args.rounds, 1 if args.quick else ROUNDS, 1, 1000)
    idle_s = parser.number("--idle", args.idle, IDLE_S, 0, 3600)
    times = parser.number("--times", args.times, 1, 1, 1000)
    names = parser.contestants(args.contestants or DEFAULT, preload.ALL)
    client = os.path.join(args.build, "bin", "servers-load")
    if not os.access(client, os.X_OK):
        parser.refuse(f"{client} is not built; run ./run build first")
    servers.limit_descriptors()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # stops the servers
    results = os.path.join(args.build, "bench")
    os.makedirs(results, exist_ok=True)
    mode = typed.MODE if args.typed else REPLACED
    why_no_samples = samples.why_not() if args.typed else None
    head = [bench.machine(), bench.huge_pages()]
    with servers.work_folder("servers") as work:
        contestants, left_out = parser.take_part(Contestant(n, args.build, work) for n in names)
        groups, no_servers = (typed.groups if args.typed else replaced_groups)(
            parser, args, times, work, contestants)
        head += [f"{c.name}: {c.library}" for c in contestants] + no_servers + left_out
        head += [f"no share of the allocator: {why_no_samples}"] if why_no_samples else []
        measured = Rounds(groups, (rounds, client, idle_s, args.typed and not why_no_samples))
        measured.run(work)
    head += [f"{name} failed in {server}: {why}"
             for (name, server), why in measured.failures.items()]

    found = report.Found(measured.runs, names_of(groups), mode)
    base = os.path.join(results, mode.file)
    write(base, found, measured.runs, head, rounds)
    print(report.summary(found))
    shown = os.path.relpath(base)
    print(f"table: {shown}.md   chart: {shown}.svg   all figures: {shown}.csv")
    return 1 if any(name == mode.goals[0].ours for name, _ in measured.failures) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nbench servers: interrupted, nothing was written", file=sys.stderr)
        sys.exit(130)
