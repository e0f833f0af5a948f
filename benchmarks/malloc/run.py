# SPDX-License-Identifier: MIT
"""Run the malloc benchmark: every contestant, interleaved, several rounds.

A process runs one case with one contestant in malloc's place. Every round begins with another
contestant and goes in the other direction. Processes of the cases that are looked at again after
an idle time wait for it together.
"""
import argparse
import csv
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import bench  # noqa: E402
import chart  # noqa: E402
import preload  # noqa: E402
import report  # noqa: E402

IDLE_S = 15
LIMIT_S = 300
ROUNDS = 5
QUICK_PERCENT = 10
# What is judged by counts, or takes no time, is always done whole.
WHOLE = ("large.", "grow.", "classes", "limit", "program.bash")
COUNTED = ("large.", "grow.", "classes", "limit", "program.bash", "migrate.")

CASES_HELP = """The cases are described in benchmarks/malloc/README.md. All of them take about half an hour with
all contestants, with --quick 3 minutes.
Results: build/bench/malloc.md, malloc.svg and malloc.csv.
"""


class Failed(Exception):
    """A process did not do what it was asked for; the text says why."""


def make_parser():
    parser = bench.Parser("malloc", "libslab as malloc of other programs, by LD_PRELOAD: classic "
                          "loads of threads,\na directory server's blocks, growth, large blocks, "
                          "programs that start.")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = CASES_HELP
    parser.add_argument("--quick", action="store_true",
                        help=f"1 round, {QUICK_PERCENT} %% of the work of long cases")
    parser.add_argument("--rounds", help=f"processes per contestant and case (default {ROUNDS})")
    parser.add_argument("--idle", help="seconds of idle time after which memory is read again "
                        f"(default {IDLE_S})")
    parser.add_argument("--cases", metavar="REGEX", help="only these cases, e.g. 'larson|^large'")
    parser.add_argument("--contestants", metavar="LIST", help="of " + ",".join(preload.ALL) +
                        "; by default all but the pools of benchmarks/baselines")
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    return parser


class Contestant(preload.Contestant):
    """A library, and the programs of this benchmark."""

    def __init__(self, name, build, runtime):
        super().__init__(name, build, runtime)
        self.program = os.path.join(build, "bin", "malloc-cases")
        self.counter = os.path.join(build, "bin", "malloc-calls")
        self.allocator = ""

    def why_not(self):
        """Try it: None, or why it cannot take part."""
        if not os.access(self.program, os.X_OK):
            return f"{self.program} is not built; run ./run build first"
        if self.missing():
            return self.missing()
        try:
            process = Process(self, "grow.strings", 1)
            process.end()
        except Failed as error:
            return str(error)
        self.allocator = process.allocator
        if os.path.realpath(self.allocator) != os.path.realpath(self.library):
            return f"'{self.allocator}' served it instead"
        return None

    def environment_of(self, case):
        """A case that starts programs does without the library and gives it to them."""
        if case.startswith("program."):
            return dict(self.plain, BENCH_PRELOAD=self.library)
        return self.environment

    def calls(self, case, percent):
        """The number of system calls of a case, or None."""
        environment = dict(self.plain, BENCH_PRELOAD=self.library)
        try:
            ran = subprocess.run([self.counter, self.program, case, str(percent)], timeout=LIMIT_S,
                                 env=environment, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired:
            return None
        word, _, number = ran.stdout.strip().partition(" ")
        return float(number) if ran.returncode == 0 and word == "calls" else None


class Process:
    """A case from its start to its end: `found` has its figures; it then waits until end()."""

    def __init__(self, contestant, case, percent):
        self.contestant, self.case = contestant, case
        self.found, self.allocator = {}, ""
        self.process = subprocess.Popen(
            [contestant.program, case, str(percent)], env=contestant.environment_of(case),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.timer = threading.Timer(LIMIT_S, self.process.kill)
        self.timer.daemon = True
        self.timer.start()
        try:
            self.read()
        except BaseException:
            self.end()
            raise
        self.ended = time.monotonic()

    def read(self):
        for line in self.process.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "end":
                return
            if word == "allocator":
                self.allocator = rest
            else:
                self.found[word] = float(rest)
        error = self.process.stderr.read().strip()
        status = self.process.wait()
        raise Failed(error.splitlines()[-1] if error else f"it ended with status {status}")

    def idle(self, seconds):
        """Wait until it has had nothing to do for so long, and read what is resident."""
        time.sleep(max(self.ended + seconds - time.monotonic(), 0))
        self.found["idle"] = float(bench.resident(self.process.pid))

    def end(self):
        self.timer.cancel()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


class Rounds:
    """All rounds of all cases: rows of (round, contestant, case, metric, value)."""

    def __init__(self, contestants, cases, rounds, quick, idle_s):
        self.contestants, self.cases, self.rounds = contestants, cases, rounds
        self.quick, self.idle_s = quick, idle_s
        self.rows, self.failures = [], {}
        self.progress = bench.Progress(rounds * len(cases) * len(contestants), rounds)

    def percent(self, case):
        return QUICK_PERCENT if self.quick and not case.startswith(WHOLE) else 100

    def run(self):
        try:
            for turn in range(self.rounds):
                for case in self.cases:
                    self.one(turn, case)
        finally:
            self.progress.end()

    def one(self, turn, case):
        """All contestants, one after the other; then their idle time, if the case has one."""
        waiting = []
        for contestant in bench.order(self.contestants, turn):
            self.progress.show(turn, f"{case} {contestant.name}")
            process = self.process(turn, contestant, case)
            if process and case in report.IDLE_CASES and self.idle_s:
                waiting.append(process)
            elif process:
                self.keep(turn, process)
        for process in waiting:
            process.idle(self.idle_s)
            self.keep(turn, process)

    def process(self, turn, contestant, case):
        try:
            process = Process(contestant, case, self.percent(case))
        except Failed as error:
            self.failures.setdefault((contestant.name, case), str(error))
            self.progress.say(f"{contestant.name} failed in {case}: {error}")
            return None
        if turn == 0 and case.startswith(COUNTED):
            calls = contestant.calls(case, self.percent(case))
            if calls is not None:
                process.found["calls"] = calls
        return process

    def keep(self, turn, process):
        process.end()
        self.rows += [(turn + 1, process.contestant.name, process.case, metric, value)
                      for metric, value in process.found.items()]


def all_cases(parser, build):
    """The cases that there are, by asking the program."""
    program = os.path.join(build, "bin", "malloc-cases")
    if not os.access(program, os.X_OK):
        parser.refuse(f"{program} is not built; run ./run build first")
    return subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()


def write(base, found, rows, head, rounds):
    with open(base + ".csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["round", "contestant", "case", "metric", "value"])
        out.writerows((*row[:4], f"{row[4]:.9g}") for row in rows)
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(report.markdown(found, head, rounds))
    with open(base + ".svg", "w", encoding="utf-8") as file:
        file.write(chart.svg(found, head[0]))


def main():
    parser = make_parser()
    args = parser.parse_args()
    rounds = parser.number("--rounds", args.rounds, 1 if args.quick else ROUNDS, 1, 1000)
    idle_s = parser.number("--idle", args.idle, IDLE_S, 0, 3600)
    names = parser.contestants(args.contestants or ",".join(preload.LIBRARIES), preload.ALL)
    cases = parser.cases(args.cases, all_cases(parser, args.build))
    results = os.path.join(args.build, "bench")
    os.makedirs(results, exist_ok=True)
    head = [bench.machine(), bench.huge_pages()]
    with tempfile.TemporaryDirectory() as runtime:
        able, left_out = parser.take_part(Contestant(n, args.build, runtime) for n in names)
        head += [f"{c.name}: {c.allocator}" for c in able] + left_out
        measured = Rounds(able, cases, rounds, args.quick, idle_s)
        measured.run()
    head += [f"{name} failed in {case}: {why}" for (name, case), why in measured.failures.items()]

    found = report.Found(measured.rows, [c.name for c in able], cases)
    base = os.path.join(results, "malloc")
    write(base, found, measured.rows, head, rounds)
    print(report.summary(found))
    shown = os.path.relpath(base)
    print(f"table: {shown}.md   chart: {shown}.svg   all figures: {shown}.csv")
    return 1 if any(name == "slab" for name, _ in measured.failures) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nbench malloc: interrupted, nothing was written", file=sys.stderr)
        sys.exit(130)
