# SPDX-License-Identifier: MIT
"""Run the listener's benchmark, interleaved, several rounds: the cases of ITS#3835 on each form of
ldapd's listener, on slapd and on ns-slapd; then a mix of operations on ldapd with each allocator.
"""
import argparse
import csv
import os
import shutil
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "..", "..", "benchmarks", "support"), os.path.join(HERE, "..", "servers")]
import bench  # noqa: E402
import cases  # noqa: E402
import chart  # noqa: E402
import contestants  # noqa: E402
import load  # noqa: E402
import report  # noqa: E402
import samples  # noqa: E402
import servers  # noqa: E402

ROUNDS, SECONDS, WARM_UP, IDLE_S = 3, 5, 1, 15
QUICK_SECONDS, QUICK_WARM_UP, QUICK_IDLE_S = 1, 0.3, 2
CONNECTIONS, IDLE, ENTRIES = 100, 4000, 10000

HELP = """All servers and cases take about 23 minutes, with --quick 3 minutes.
Results: build/bench/listener.md, listener.svg and listener.csv.

Packages of servers that are not installed are unpacked in build/servers; nothing is installed, and
servers of the system stay as they are.
"""


def make_parser():
    parser = bench.Parser("listener", "The table of OpenLDAP ITS#3835 on ldapd: four forms of its "
                          "listener, beside slapd and ns-slapd.\nThen ldapd on libslab and on other "
                          "allocators.")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = HELP
    parser.add_argument("--quick", action="store_true",
                        help="1 round with 1 second for each case; no goal is judged")
    parser.add_argument("--rounds", help=f"processes per server (default {ROUNDS})")
    parser.add_argument("--seconds", help=f"of a case (default {SECONDS})")
    parser.add_argument("--connections", help=f"that search (default {CONNECTIONS})")
    parser.add_argument("--idle", help=f"idle connections (default {IDLE})")
    parser.add_argument("--threads", help="of ldapd (default: its own)")
    parser.add_argument("--cases", metavar="REGEX", help="of " + " ".join(cases.CASES))
    parser.add_argument("--contestants", metavar="LIST",
                        help="of " + ",".join(contestants.NAMES) + " (default all)")
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    return parser


class Settings:
    """What the options say."""

    def __init__(self, parser, args):
        self.rounds = parser.number("--rounds", args.rounds, 1 if args.quick else ROUNDS, 1, 1000)
        self.seconds = parser.number("--seconds", args.seconds,
                                     QUICK_SECONDS if args.quick else SECONDS, 1, 3600)
        self.connections = parser.number("--connections", args.connections, CONNECTIONS, 1, 10000)
        self.idle = parser.number("--idle", args.idle, IDLE, 1, 15000)
        self.threads = parser.number("--threads", args.threads, None, 2, 256)
        self.cases = parser.cases(args.cases, list(cases.CASES))
        self.left_out = []
        self.leave_out_share(parser)
        self.warm_up = QUICK_WARM_UP if args.quick else WARM_UP
        self.idle_s = QUICK_IDLE_S if args.quick else IDLE_S
        self.quick = args.quick
        self.client = os.path.join(args.build, "bin", "ldapload")
        if not os.access(self.client, os.X_OK):
            parser.refuse(f"{self.client} is not built; run ./run build first")

    def leave_out_share(self, parser):
        why = samples.why_not() if "share" in self.cases else None
        if not why:
            return
        self.left_out = [f"share is left out: {why}"]
        self.cases.remove("share")
        if not self.cases:
            parser.refuse(self.left_out[0])
        print(self.left_out[0], file=sys.stderr)


class Run:
    """One server process and its cases: `found` is {(case, metric): value}, `curve` its memory."""

    def __init__(self, server, turn, settings):
        self.server, self.turn, self.settings = server, turn, settings
        self.found, self.curve = {}, []
        self.port = self.process = self.folder = self.memory = None

    def start(self, work, environment):
        self.port = servers.free_port()
        self.folder = tempfile.mkdtemp(dir=work)
        self.process = self.server.start(environment | {"TMPDIR": self.folder}, self.folder, self.port)

    def stop(self):
        if self.process:
            servers.stop(self.process)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def measure(self, name):
        if self.process.poll() is not None:
            raise servers.Failed(f"it ended with status {self.process.returncode}")
        measured = load.Load(self, name)
        try:
            if name == "mix":
                self.memory = measured.mix()
            elif name == "share":
                measured.share(self.folder)
            else:
                measured.searches()
        except servers.Failed as error:
            raise servers.Failed(f"{name}: {error}") from None
        self.keep(name, measured.found)

    def keep(self, name, found):
        self.found |= {(name, metric): value for metric, value in found.items()}

    def memory_read(self):
        """Wait until the server's idle time is over."""
        if self.memory:
            self.keep("mix", self.memory.found())
            self.curve = self.memory.samples
            self.memory = None


class Rounds:
    """All rounds of all servers. Those that are compared run side by side, so that the measurements
    of a case follow each other; the others wait for connections meanwhile.
    """

    def __init__(self, able, settings, work):
        self.able, self.settings, self.work = able, settings, work
        self.environment = bench.plain_environment(work)
        self.runs, self.failures = [], {}
        steps = sum(len(self.servers_of(name)) for name in settings.cases)
        self.progress = bench.Progress(settings.rounds * steps, settings.rounds)

    def servers_of(self, name):
        case = cases.CASES[name]
        return [server for server in self.able if server.compares == case.compares
                and (server.can_stall or not case.stall)
                and (name != "share" or server.name in contestants.SAMPLED)]

    def parts(self):
        """Cases that have the same processes."""
        kinds = {}
        for name in self.settings.cases:
            case = cases.CASES[name]
            kinds.setdefault((case.compares, case.stall), []).append(name)
        return kinds.items()

    def run(self):
        try:
            for turn in range(self.settings.rounds):
                for (_, stall), names in self.parts():
                    self.part(turn, names, stall)
        finally:
            self.progress.end()

    def part(self, turn, names, stall):
        """Stalls are a setting of the server: they have processes of their own."""
        runs = []
        able = [server for server in self.able
                if any(server in self.servers_of(name) for name in names)]
        try:
            for server in able:
                server.stall = stall
                run = Run(server, turn, self.settings)
                runs.append(run)
                self.attempt(run, lambda run: run.start(self.work, self.environment))
            runs = [run for run in runs if run.process]
            for i, name in enumerate(names):
                self.case(turn, name, bench.order(runs, turn + i) if runs else [])
        finally:
            for run in runs:
                run.stop()
        self.runs += runs

    def case(self, turn, name, runs):
        taking_part = self.servers_of(name)
        for run in runs:
            if run.server in taking_part:
                self.progress.show(turn, f"{name} {run.server.name}")
                self.attempt(run, lambda run: run.measure(name))
        for run in runs:
            self.attempt(run, lambda run: run.memory_read())

    def attempt(self, run, step):
        try:
            step(run)
        except (servers.Failed, OSError) as error:
            self.failures.setdefault(run.server.name, str(error))
            self.progress.say(f"{run.server.name} failed: {error}")


def make_servers(parser, names, threads, args, work):
    build = os.path.abspath(args.build)
    made = [contestants.make(name, build, work, ENTRIES, threads) for name in names]
    return servers.prepared(parser, made, bench.plain_environment(work))


def write(base, found, runs, head):
    with open(base + ".csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["round", "server", "case", "what", "seconds", "value"])
        for run in runs:
            where = [run.turn + 1, run.server.name]
            out.writerows(where + [case, what, "", f"{value:.9g}"]
                          for (case, what), value in run.found.items())
            out.writerows(where + ["mix", "curve", f"{second:.1f}", value]
                          for second, value in run.curve)
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(report.markdown(found, head))
    with open(base + ".svg", "w", encoding="utf-8") as file:
        file.write(chart.picture(found, head[0]))


def main():
    parser = make_parser()
    args = parser.parse_args()
    settings = Settings(parser, args)
    names = parser.contestants(args.contestants, contestants.NAMES)
    servers.DESCRIPTORS = contestants.DESCRIPTORS
    servers.limit_descriptors()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # stops the servers
    results = os.path.join(args.build, "bench")
    os.makedirs(results, exist_ok=True)
    head = [bench.machine()]
    with servers.work_folder("listener") as work:
        able, left_out = make_servers(parser, names, settings.threads, args, work)
        measured = Rounds(able, settings, work)
        measured.run()
    head += settings.left_out + left_out
    head += [f"{name} failed: {why}" for name, why in measured.failures.items()]

    found = report.Found(measured.runs, able, settings)
    base = os.path.join(results, "listener")
    write(base, found, measured.runs, head)
    print(report.summary(found))
    shown = os.path.relpath(base)
    print(f"table: {shown}.md   chart: {shown}.svg   all figures: {shown}.csv")
    ours = contestants.FORMS + (contestants.OURS,)
    return 1 if any(name in ours for name in measured.failures) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nbench listener: interrupted, nothing was written", file=sys.stderr)
        sys.exit(130)
