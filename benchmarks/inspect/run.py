# SPDX-License-Identifier: MIT
"""The cost of observing a process.

inspect-load works on very many slabs with one thread or more. Each measurement of it observed
by slabinfo has one of it unobserved beside it, before or after in turn, so that a busy minute
of the machine affects both. The observer "none" is nothing at all: its differences are the
noise that those of the others have to be compared with.
"""
import argparse
import csv
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

OBSERVERS = {
    "none": None,
    "top=1": ["--top=1"],
    "top=0.1": ["--top=0.1"],
    "openmetrics": "while :; do {slabinfo} -p {pid} --openmetrics; sleep 1; done",
}
LABELS = {
    "none": "nothing (noise)",
    "top=1": "`--top=1`",
    "top=0.1": "`--top=0.1`",
    "openmetrics": "`--openmetrics`, each second",
}
SETTLE = 0.5  # seconds from the start of an observer to the measurement


class Load:
    """The observed process."""

    def __init__(self, program, slabs, threads, env):
        self.process = subprocess.Popen(
            [program, str(slabs), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        if self.process.stdout.readline().strip() != "ready":
            sys.exit("run.py: inspect-load did not start")

    def read(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()]

    def measure(self, seconds):
        """Nanoseconds per operation over this time: elapsed, and of the process's CPU time."""
        self.read()
        time.sleep(seconds)
        operations, elapsed, cpu = self.read()
        return elapsed / operations, cpu / operations

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Observer:
    """slabinfo beside the load, or nothing."""

    def __init__(self, slabinfo, how, pid, env):
        self.process, self.since = None, time.monotonic()
        if how is None:
            return
        if isinstance(how, str):
            command = ["sh", "-c", how.format(slabinfo=slabinfo, pid=pid)]
        else:
            command = [slabinfo, "-p", str(pid), *how]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env,
            start_new_session=True,
        )

    def end(self):
        """Returns the share of a CPU that it took."""
        if not self.process:
            return 0.0
        if self.process.poll() is not None:
            sys.exit(f"run.py: slabinfo ended with status {self.process.returncode}")
        os.killpg(self.process.pid, signal.SIGTERM)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return (usage.ru_utime + usage.ru_stime) / (time.monotonic() - self.since)


class Found:
    """All measurements beside one observer."""

    def __init__(self):
        self.unobserved, self.observed, self.shares = [], [], []

    def slower(self, quantity, of):
        """By how many percent, as `of` (min, median) sees all rounds; quantity 0: elapsed,
        1: CPU time."""
        before = of([times[quantity] for times in self.unobserved])
        return (of([times[quantity] for times in self.observed]) / before - 1) * 100

    def row(self, name):
        cells = [LABELS[name]]
        for times in (self.unobserved, self.observed):
            elapsed = [time[0] for time in times]
            cells.append(f"{min(elapsed):.2f} / {statistics.median(elapsed):.2f}")
        for quantity in (0, 1):
            cells.append(f"{self.slower(quantity, min):+.1f} / "
                         f"{self.slower(quantity, statistics.median):+.1f} %")
        cells.append(f"{statistics.median(self.shares) * 100:.1f} %")
        return "| " + " | ".join(cells) + " |"


def measure_pair(load, seconds, start_observer, found, observed_first):
    for observed in (True, False) if observed_first else (False, True):
        observer = start_observer() if observed else None
        time.sleep(SETTLE)
        (found.observed if observed else found.unobserved).append(load.measure(seconds))
        if observer:
            found.shares.append(observer.end())


def measure(args, threads, env):
    bin_dir = os.path.join(args.build, "bin")
    load = Load(os.path.join(bin_dir, "inspect-load"), args.slabs, threads, env)
    found = {name: Found() for name in args.observers}
    for turn in range(args.rounds):
        for name in args.observers:
            def start_observer(how=OBSERVERS[name]):
                return Observer(os.path.join(bin_dir, "slabinfo"), how, load.process.pid, env)
            measure_pair(load, args.seconds, start_observer, found[name], turn % 2 == 1)
        print(f"round {turn + 1} of {args.rounds}", file=sys.stderr)
    load.end()
    return found


def figures(found, threads):
    """A line of the CSV for each measurement."""
    for name, one in found.items():
        for observed, measured in (("unobserved", one.unobserved), ("observed", one.observed)):
            for turn, times in enumerate(measured):
                for metric, value in zip(("time", "cpu"), times):
                    yield turn + 1, name, threads, observed, metric, f"{value:.4f}"


def table(found, args, threads):
    unobserved = [times[0] for one in found.values() for times in one.unobserved]
    spread = (max(unobserved) - min(unobserved)) / statistics.median(unobserved) * 100
    lines = [
        f"{args.slabs} slabs, {threads} thread{'s' if threads > 1 else ''} at work, "
        f"{args.rounds} rounds of {args.seconds:g} s; unobserved, the time varies by "
        f"{spread:.1f} %. Each cell has the minimum and the median of all rounds.",
        "",
        "| observed by | ns per operation, unobserved | observed | slower by "
        "| more CPU time per operation | CPU of the observer |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + [one.row(name) for name, one in found.items()]) + "\n"


def observers(text):
    names = text.split(",")
    for name in names:
        if name not in OBSERVERS:
            raise argparse.ArgumentTypeError(
                f"there is no observer '{name}'; there are: {', '.join(OBSERVERS)}")
    return names


def threads(text):
    return [int(number) for number in text.split(",")]


def main():
    parser = argparse.ArgumentParser(
        prog="./run bench inspect", description=__doc__.split("\n", 1)[0])
    parser.add_argument("slabs", nargs="?", type=int, default=1000000)
    parser.add_argument("rounds", nargs="?", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--observers", type=observers, default=list(OBSERVERS),
                        help="comma list of: " + ", ".join(OBSERVERS))
    parser.add_argument("--threads", type=threads, default=[1, os.cpu_count()],
                        help="comma list of numbers of working threads")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    result, lines = [], []
    with tempfile.TemporaryDirectory() as runtime:
        env = dict(os.environ, SLAB_RUNTIME_DIR=runtime)
        for count in args.threads:
            found = measure(args, count, env)
            result.append(table(found, args, count))
            lines += figures(found, count)
    text = "\n".join(result)
    print(text)
    base = os.path.join(args.build, "bench", "inspect")
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(text)
    with open(base + ".csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["round", "observer", "threads", "observed", "what", "value"])
        out.writerows(lines)


if __name__ == "__main__":
    main()
