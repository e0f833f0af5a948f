# SPDX-License-Identifier: MIT
"""Replay the slides' tables on SLOB, SLAB, sheaves and libslab: interleaved rounds, one process per
case. What the processes print goes to slides.csv; report.py and chart.py make tables and chart.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import bench  # noqa: E402
import chart  # noqa: E402
import report  # noqa: E402

PROGRAMS = {"slab": "slab", "SLAB": "queued", "sheaves": "sheaf", "slob": "slob"}
SIZES = (64, 256, 1024, 4096)
QUICK_SIZES = (256,)
BLOCKS = (240, 712)
CPUS = (1, 2, 4, 8, 16, 32, 64)
QUICK_CPUS = (2, 64)
NODES = (1, 2, 4, 8)
QUICK_NODES = (1, 4)
UNUSED_CPUS = (1, 8, 64)
CASES = ("cycles", "memory", "hackbench", "modes", "trapped", "unused", "block")
# SLOB visits each page of a list that has any free unit, so a million blocks take it 20 seconds.
LEFT_OUT = {("slob", "block")}
ONCE = {"trapped", "unused"}  # no duration: every round would find the same
TIMEOUT_S = 300
DECAY_MS = 200  # libslab's periodic work in trapped and unused: there are 3 seconds for it


def make_parser():
    parser = bench.Parser("slides", "the tables of Lameter's slides (2015) and the seed on the parameter "
                          "block, for SLOB, SLAB, sheaves and libslab; cases: " + ", ".join(CASES))
    parser.add_argument("--quick", action="store_true", help="1 round, 256 bytes, fewer messages and CPUs")
    parser.add_argument("--rounds", help="processes per contestant and case (default 7)")
    parser.add_argument("--cases", metavar="REGEX", help="only these cases, e.g. 'cycles|memory'")
    parser.add_argument("--messages", help="hackbench: messages from each sender to each receiver "
                        "(default 40; the slide has 2000)")
    parser.add_argument("--contestants", metavar="LIST", help="of " + ",".join(PROGRAMS))
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    return parser


class Contestant:
    """The programs of one design."""

    def __init__(self, name, build, runtime):
        self.name = name
        self.bin = os.path.join(build, "bin")
        self.environment = dict(bench.plain_environment(runtime), SLAB_CONTROL="off")

    def program(self, kind):
        return os.path.join(self.bin, f"{kind}-{PROGRAMS[self.name]}")

    def why_not(self):
        for kind in ("objects", "slides", "trapped"):
            if not os.access(self.program(kind), os.X_OK):
                return f"{os.path.basename(self.program(kind))} is not built; run ./run build first"
        return None

    def run(self, kind, arguments, **environment):
        """The lines of CSV that a program prints."""
        done = subprocess.run([self.program(kind), *map(str, arguments)], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S,
                              env=dict(self.environment, **environment))
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
        return [line.split(",") for line in done.stdout.splitlines() if not line.startswith("#")]

    def cycles(self, options):
        """Rows of benchmarks/objects: cycles per operation."""
        rows = self.run("objects", ["--cases", ",".join(report.OBJECT_ROWS), "--sizes",
                                    ",".join(map(str, options.sizes))])
        return [(row[0], row[1], row[5], row[6]) for row in rows]

    def simple(self, *arguments):
        return [tuple(row) for row in self.run("slides", arguments)]

    def memory(self, _options):
        return self.simple("memory")

    def hackbench(self, options):
        return self.simple("hackbench", options.messages)

    def modes(self, options):
        return [row for size in options.sizes for row in self.simple("modes", size)]

    def block(self, _options):
        return [row for size in BLOCKS for row in self.simple("block", size)]

    def pretended(self, cpus, nodes, *arguments):
        """The rows of trapped.c: the size is the number of CPUs, and the row has that of nodes."""
        found = self.run("trapped", [*arguments, cpus], BASELINE_NODES=str(nodes), BASELINE_REAPER="off",
                         SLAB_FAKE_NODES=str(nodes), SLAB_DECAY_MS=str(DECAY_MS))
        return [(f"{row[0]}.{nodes}", *row[1:]) for row in found]

    def trapped(self, options):
        return [row for nodes in options.nodes for cpus in options.cpus
                for row in self.pretended(cpus, nodes)]

    def unused(self, options):
        return [row for nodes in options.nodes for cpus in options.unused_cpus
                for row in self.pretended(cpus, nodes, "unused")]


def measure(contestants, cases, options, raw):
    """All rounds. Returns failures by contestant and case."""
    failures = {}
    progress = bench.Progress(options.rounds * len(contestants) * len(cases), options.rounds)
    raw.write(report.CSV_HEADER + "\n")
    for turn in range(options.rounds):
        for case in cases:
            for contestant in bench.order(contestants, turn):
                progress.show(turn, f"{case} {contestant.name}")
                if (contestant.name, case) in LEFT_OUT or (case in ONCE and turn > 0):
                    continue
                try:
                    rows = getattr(contestant, case)(options)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failures[contestant.name, case] = str(error)
                    continue
                for row in rows:
                    raw.write(",".join((str(turn + 1), contestant.name, *row)) + "\n")
        raw.flush()
    progress.end()
    return failures


def frequency():
    """MHz of the time stamp counter, as the kernel measured it."""
    return bench.line_from("/proc/cpuinfo", r"^cpu MHz\s*: (\S+)$")


def main():
    parser = make_parser()
    options = parser.parse_args()
    options.rounds = parser.number("--rounds", options.rounds, 1 if options.quick else 7, 1, 1000)
    options.messages = parser.number("--messages", options.messages, 8 if options.quick else 40, 8, 2000)
    options.sizes = QUICK_SIZES if options.quick else SIZES
    options.cpus = QUICK_CPUS if options.quick else CPUS
    options.unused_cpus = QUICK_CPUS if options.quick else UNUSED_CPUS
    options.nodes = QUICK_NODES if options.quick else NODES
    names = parser.contestants(options.contestants, list(PROGRAMS))
    cases = parser.cases(options.cases, CASES)
    results = os.path.join(options.build, "bench")
    os.makedirs(results, exist_ok=True)
    runtime = tempfile.mkdtemp(prefix="slides-")
    head = [bench.machine(), f"cycles are those of the time stamp counter, {frequency()} MHz",
            bench.huge_pages()]
    csv = os.path.join(results, "slides.csv")
    try:
        contestants, left_out = parser.take_part(
            Contestant(name, options.build, runtime) for name in names)
        with open(csv, "w", encoding="utf-8") as raw:
            failures = measure(contestants, cases, options, raw)
    finally:
        shutil.rmtree(runtime)
    head += left_out + [f"{name}: {case} failed: {why}" for (name, case), why in failures.items()]
    found = report.Results(csv, [c.name for c in contestants])
    with open(os.path.join(results, "slides.md"), "w", encoding="utf-8") as file:
        file.write(report.markdown(found, head, options))
    with open(os.path.join(results, "slides.svg"), "w", encoding="utf-8") as file:
        file.write(chart.svg(found, head[0]))
    for (name, case), why in failures.items():
        print(f"{name}: {case} failed: {why}", file=sys.stderr)
    print(report.summary(found))
    shown = os.path.relpath(results)
    print(f"tables: {shown}/slides.md   chart: {shown}/slides.svg   all rows: {shown}/slides.csv")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nbench slides: interrupted, nothing was written but slides.csv", file=sys.stderr)
        sys.exit(130)
