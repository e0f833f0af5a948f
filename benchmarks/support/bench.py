# SPDX-License-Identifier: MIT
"""The order of rounds, progress, resident memory, the machine. The demo uses it, too."""
import os
import re
import statistics
import sys
import time


def plain_environment(runtime):
    """Default settings for all allocators; libslab's control socket in a directory of its own."""
    environment = {key: value for key, value in os.environ.items()
                   if not re.match(r"SLAB_|LD_PRELOAD|MALLOC_|TCMALLOC_|MIMALLOC_|SNMALLOC_|"
                                   r"GLIBC_TUNABLES|BENCH_PRELOAD", key)}
    environment["SLAB_RUNTIME_DIR"] = runtime
    return environment


def resident(pid):
    """Bytes of anonymous memory less what the system may take at any time (MADV_FREE). Reading
    them touches nothing of the process.
    """
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] in ("Anonymous:", "LazyFree:"):
                found[words[0]] = int(words[1]) * 1024
    return found["Anonymous:"] - found["LazyFree:"]


def growth(values):
    """Per cent by which a straight line through them, a step apart, grows from end to end."""
    n = len(values)
    if n < 3:
        return 0.0
    middle, mean = (n - 1) / 2, statistics.fmean(values)
    spread = sum((i - middle) ** 2 for i in range(n))
    slope = sum((i - middle) * (value - mean) for i, value in enumerate(values)) / spread
    return slope * n / mean * 100 if mean else 0.0


class Progress:
    """One line on a terminal, one line per round elsewhere; with an estimate."""

    def __init__(self, total, rounds):
        self.total, self.rounds, self.done = total, rounds, 0
        self.begin = time.monotonic()
        self.tty = sys.stderr.isatty()
        self.last_round, self.line = None, ""

    def show(self, turn, text):
        """Before the next of `total` steps."""
        elapsed = time.monotonic() - self.begin
        share = self.done / self.total
        self.done += 1
        left = f"{elapsed / share - elapsed:4.0f} s left" if share > 0.01 else " ... s left"
        where = f"round {turn + 1}/{self.rounds}"
        self.line = f"{where}  {share:4.0%}  {left}"
        self.detail(text)
        if not self.tty and where != self.last_round:
            print(f"{where}, {left.strip()}", file=sys.stderr, flush=True)
        self.last_round = where

    def detail(self, text):
        """Where the step is."""
        if self.tty:
            print(f"\r{self.line}  {text:<44}", end="", file=sys.stderr, flush=True)

    def say(self, text):
        """A line that stays."""
        clear = "\r" + " " * 78 + "\r" if self.tty else ""
        print(clear + text, file=sys.stderr, flush=True)

    def end(self):
        self.say(f"measured for {time.monotonic() - self.begin:.0f} seconds")


def order(contestants, turn):
    """Everybody once, another one first each time, every second time backwards."""
    first = turn % len(contestants)
    turned = contestants[first:] + contestants[:first]
    return turned[::-1] if turn % 2 else turned


def line_from(path, pattern):
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.M)
            return found.group(1) if found else "unknown"
    except OSError:
        return "unknown"


def machine():
    cpu = line_from("/proc/cpuinfo", r"^model name\s*: (.*)$")
    system = line_from("/etc/os-release", r'^PRETTY_NAME="(.*)"$')
    cpus = len(os.sched_getaffinity(0))
    return (f"{cpu}, {cpus} CPUs, {system}, Linux {os.uname().release}; "
            f"{time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f} at the start")


def huge_pages():
    """Whether one fault may bring 2 MiB, without a request of the allocator's."""
    found = line_from("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]")
    return f"transparent huge pages: {found}"
