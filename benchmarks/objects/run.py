# SPDX-License-Identifier: MIT
"""Run the object benchmark: every contestant, interleaved, several rounds.

One process runs all cases of one contestant. A round is one process of each, and
every round begins with another contestant and alternates its direction, so that a
busy minute of the machine does not always meet the same one. What a process prints
goes to objects.csv as it is; report.py and chart.py make the table and the chart.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import bench  # noqa: E402
import chart  # noqa: E402
import recording  # noqa: E402
import report  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [16, 32, 64, 128, 240, 256, 512, 712, 1024, 2112, 4096, 8192]
MAX_SIZES = 64
PROCESS_TIMEOUT_S = 600

# name: program, environment, preloaded library, what its first line must say
CONTESTANTS = {
    "slab": ("objects-slab", {}, None, "libslab"),
    "slab-lto": ("objects-slab-lto", {}, None, "libslab"),
    "slab-malloc": ("objects-slab-malloc", {}, None, "libslab"),
    "slab-cmpxchg16b": ("objects-slab", {"SLAB_ENGINE": "cmpxchg16b"}, None, "cmpxchg16b"),
    "slab-mutex": ("objects-slab", {"SLAB_ENGINE": "mutex"}, None, "mutex"),
    "glibc": ("objects-malloc", {}, None, "libc.so"),
    "jemalloc": ("objects-malloc", {}, "libjemalloc.so.2", "libjemalloc"),
    "tcmalloc": ("objects-malloc", {}, "libtcmalloc_minimal.so.4", "libtcmalloc"),
    "mimalloc": ("objects-malloc", {}, "libmimalloc.so.2", "libmimalloc"),
    "jemalloc5": ("objects-malloc", {}, "rivals/jemalloc5.so", "jemalloc5"),
    "mimalloc2": ("objects-malloc", {}, "rivals/mimalloc2.so", "mimalloc2"),
    "mimalloc3": ("objects-malloc", {}, "rivals/mimalloc3.so", "mimalloc3"),
    "snmalloc": ("objects-malloc", {}, "rivals/snmalloc.so", "snmalloc"),
    "gslice": ("objects-gslice", {}, None, "GLib"),
    "dpdk": ("objects-dpdk", {}, None, "DPDK"),
    "empty": ("objects-empty", {}, None, "empty"),
}
# Designs of benchmarks/baselines. They are compared when they are named, and are no rivals.
DESIGNS = {
    "slob": ("objects-slob", {}, None, "slob"),
    "SLAB": ("objects-queued", {}, None, "SLAB"),
    "sheaves": ("objects-sheaf", {}, None, "sheaves"),
}


def make_parser():
    parser = bench.Parser("objects", "N allocations, N frees, pairs, "
                    "remote frees, rings, random lifetimes, many threads, bulk, and a recording "
                    "of a directory: libslab against malloc and memory pools.")
    parser.add_argument("--quick", action="store_true",
                        help="3 rounds with 64, 240, 712 and 2112 bytes")
    parser.add_argument("--rounds", help="processes per contestant (default 9)")
    parser.add_argument("--ms", help="milliseconds for each measurement of a process (default 8)")
    parser.add_argument("--cases", metavar="REGEX", help="only these cases, e.g. 'ring|^pair'")
    parser.add_argument("--sizes", metavar="LIST", help="object sizes in bytes, e.g. 64,240")
    parser.add_argument("--trace", metavar="FILE", help="what the case trace replays (default: "
                        "dirsrv/directory, recorded at first use)")
    parser.add_argument("--contestants", metavar="LIST", help="of " + ",".join(CONTESTANTS) +
                        "; and " + ",".join(DESIGNS))
    parser.add_argument("--build", default="build", help=argparse.SUPPRESS)
    return parser


def chosen_sizes(parser, args):
    if args.sizes is None:
        return list(report.GOAL_SIZES) if args.quick else SIZES
    sizes = [parser.number("--sizes", word, 0, 8, 32768) for word in args.sizes.split(",")]
    if len(sizes) > MAX_SIZES:
        parser.refuse(f"--sizes takes at most {MAX_SIZES} sizes, not {len(sizes)}")
    return sorted(set(sizes))


def all_cases(parser, binaries):
    """The rows that there are, by asking a program."""
    program = os.path.join(binaries, "objects-malloc")
    if not os.access(program, os.X_OK):
        parser.refuse(f"{program} is not built; run ./run build first")
    return subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()


class Contestant:
    """One contestant: how to start it, and whether it works here."""

    def __init__(self, name, binaries):
        program, environment, preload, self.expected = (CONTESTANTS | DESIGNS)[name]
        self.name = name
        self.preload = preload
        self.library = bench.find_preload(preload, os.path.dirname(binaries)) if preload else None
        self.program = os.path.join(binaries, program)
        # Only the allocator is measured, not the thread that shows it to slabinfo.
        self.environment = dict(os.environ, SLAB_CONTROL="off", **environment)
        self.environment.pop("LD_PRELOAD", None)
        if self.library:
            self.environment["LD_PRELOAD"] = self.library
        self.allocator = ""

    def start(self, arguments):
        return subprocess.Popen([self.program] + arguments, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)

    def why_not(self):
        """Try it: None, or why it cannot take part."""
        if not os.access(self.program, os.X_OK):
            return f"{os.path.basename(self.program)} is not built (its library is missing)"
        if self.preload and not self.library:
            return (f"{self.preload} is not built; run benchmarks/rivals/build"
                    if self.preload.startswith("rivals/") else f"{self.preload} is not installed")
        process = self.start(["--cases", "pair", "--sizes", "64", "--laps", "1"])
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            kill(process)
            return "it did not finish a single lap in 60 seconds"
        if process.returncode != 0:
            return (err.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
        self.allocator = out.splitlines()[0].lstrip("# ")
        if self.expected not in self.allocator:
            return f"'{self.allocator}' served it instead"
        return None


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Progress:
    """One line on a terminal, one line per round elsewhere."""

    def __init__(self, total, sizes):
        self.total, self.sizes = total, sizes
        self.begin = time.monotonic()
        self.tty = sys.stderr.isatty()
        self.last_round = None

    def show(self, done, where, contestant, size):
        round_text = f"round {where[0] + 1}/{where[1]}"
        part = self.sizes.index(size) / len(self.sizes) if size in self.sizes else 0
        share = (done + part) / self.total
        elapsed = time.monotonic() - self.begin
        left = f"{elapsed / share - elapsed:4.0f} s left" if share > 0.01 else "  ... s left"
        if self.tty:
            print(f"\r{round_text}  {share:4.0%}  {left}  {contestant:<16}{size or '':>5} bytes ",
                  end="", file=sys.stderr, flush=True)
        elif round_text != self.last_round:
            print(f"{round_text}, {left.strip()}", file=sys.stderr, flush=True)
        self.last_round = round_text

    def end(self):
        if self.tty:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr)
        seconds = time.monotonic() - self.begin
        print(f"measured for {seconds:.0f} seconds", file=sys.stderr)


def run_one(contestant, arguments, on_row):
    """One process: its rows to on_row; "" or what went wrong."""
    process = contestant.start(arguments)
    deadline = time.monotonic() + PROCESS_TIMEOUT_S
    try:
        for line in process.stdout:
            if not line.startswith("#"):
                on_row(line.rstrip("\n"))
            if time.monotonic() > deadline:
                kill(process)
                return f"stopped after {PROCESS_TIMEOUT_S} seconds"
        errors = process.stderr.read().strip()
        process.wait()
    except KeyboardInterrupt:
        kill(process)
        raise
    if process.returncode != 0:
        return errors.splitlines()[-1] if errors else f"exit status {process.returncode}"
    return ""


def measure(contestants, rounds, arguments, sizes, raw):
    """All rounds. Raw rows go to the file `raw`; returns failures by contestant."""
    failures = {}
    progress = Progress(rounds * len(contestants), sizes)
    done = 0
    raw.write(report.CSV_HEADER + "\n")
    for turn in range(rounds):
        for contestant in bench.order(contestants, turn):
            progress.show(done, (turn, rounds), contestant.name, sizes[0])

            def on_row(row):
                raw.write(f"{turn + 1},{contestant.name},{row}\n")
                progress.show(done, (turn, rounds), contestant.name, int(row.split(",")[1]))

            error = run_one(contestant, arguments, on_row)
            if error:
                failures[contestant.name] = error
            done += 1
        raw.flush()
    progress.end()
    return failures


def instructions(build):
    """The instruction counts as text, or one line on why there are none."""
    script = os.path.join(HERE, "instructions.sh")
    result = subprocess.run(["sh", script, build], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode == 0:
        return result.stdout
    return (result.stderr.strip().splitlines() or ["instructions.sh failed"])[-1] + "\n"


def main():
    parser = make_parser()
    args = parser.parse_args()
    rounds = parser.number("--rounds", args.rounds, 3 if args.quick else 9, 1, 1000)
    ms = parser.number("--ms", args.ms, 8, 1, 10000)
    sizes = chosen_sizes(parser, args)
    names = parser.contestants(args.contestants,
                               list(CONTESTANTS | DESIGNS if args.contestants else CONTESTANTS))
    binaries = os.path.join(args.build, "bin")
    cases = parser.cases(args.cases, all_cases(parser, binaries))
    results = os.path.join(args.build, "bench")
    os.makedirs(results, exist_ok=True)
    traced = [case for case in cases if case in report.TRACE_CASES]
    trace = ["--trace", recording.find(parser, args.build, args.trace)] if traced else []
    head = [bench.machine()]
    contestants, left_out = parser.take_part(Contestant(n, binaries) for n in names)
    head += [f"{c.name}: {c.allocator}" for c in contestants] + left_out

    arguments = trace + ["--ms", str(ms), "--sizes", ",".join(map(str, sizes)), "--cases", ",".join(cases)]
    csv = os.path.join(results, "objects.csv")
    with open(csv, "w", encoding="utf-8") as raw:
        failures = measure(contestants, rounds, arguments, sizes, raw)
    head += [f"{name} failed in part: {why}" for name, why in failures.items()]
    for name, why in failures.items():
        print(f"{name} failed in part: {why}", file=sys.stderr)

    table = report.Table(csv, [c.name for c in contestants], cases)
    counts = instructions(args.build) if "slab" in names else ""
    with open(os.path.join(results, "objects.md"), "w", encoding="utf-8") as file:
        file.write(report.markdown(table, head, rounds, counts))
    with open(os.path.join(results, "objects.svg"), "w", encoding="utf-8") as file:
        file.write(chart.svg(table, head[0]))
    print(report.summary(table))
    shown = os.path.relpath(results)
    print(f"table: {shown}/objects.md   chart: {shown}/objects.svg   all rows: {shown}/objects.csv")
    return 1 if any(name.startswith("slab") for name in failures) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nbench objects: interrupted, nothing was written but objects.csv", file=sys.stderr)
        sys.exit(130)
