# SPDX-License-Identifier: MIT
"""The same server on libslab and on malloc, side by side: all are started, and take turns under the
same load in short rounds, each time in another order.
"""
import statistics
import time

import bench
import preload
from programs import Failure, Server, results

MALLOCS = ("glibc", "jemalloc", "tcmalloc", "mimalloc")
SIDES = ("libslab",) + MALLOCS
WARM_UP_S = 0.3
SAMPLE_S = 0.1
SETTLE = 2.5  # times the seconds of a turn
MIB = 1024 * 1024

# key, label, decimals, whether more is better
ROWS = (("rate", "operations/s", 0, True),
        ("cpu", "CPU us per operation", 1, False),
        ("p99", "99 % latency, us", 0, False),
        ("loaded", "MiB resident under load", 1, False),
        ("after", "MiB resident {settle:g} s later", 1, False))


class Side:
    """One server, and what was measured on it."""

    def __init__(self, name, build, ldif, stack):
        self.name = name
        malloc = None if name == "libslab" else preload.Contestant(name, build, "")
        if malloc and not malloc.library:
            raise Failure(malloc.missing())
        environment = server_environment()
        if malloc and name != "glibc":
            environment["LD_PRELOAD"] = malloc.library
        program = "ldapd" if not malloc else "ldapd-malloc"
        self.server = Server(f"{build}/bin/{program}", environment, ldif, stack)
        if malloc and not malloc.is_in(self.server.pid):
            raise Failure(f"{malloc.library} did not replace malloc()")
        self.found = {key: [] for key, *_ in ROWS}

    def turn(self, load, seconds):
        """One round of the load."""
        resident, cpu = [], self.server.cpu_s()
        with load.measured(self.server, seconds, WARM_UP_S) as process:
            while process.poll() is None:
                resident.append(self.server.resident())
                time.sleep(SAMPLE_S)
            measured = results(process)["all"]
        share = seconds / (seconds + WARM_UP_S)
        self.found["rate"].append(measured["per_second"])
        self.found["loaded"].append(max(resident) / MIB)
        if measured["count"]:
            self.found["cpu"].append((self.server.cpu_s() - cpu) * share * 1e6 / measured["count"])
            self.found["p99"].append(measured["p99_us"])

    def median(self, key):
        if not self.found[key]:
            raise Failure(f"{self.name} executed no operation; a larger --seconds gives it time")
        return statistics.median(self.found[key])


def server_environment():
    """The user's, without libraries and settings that would change a side."""
    environment = bench.plain_environment("")
    del environment["SLAB_RUNTIME_DIR"]
    return environment


class Comparison:
    """All sides that can run; a line for each that cannot."""

    def __init__(self, build, ldif, stack):
        self.sides, self.left_out, self.settle = [], [], 0
        for name in SIDES:
            try:
                self.sides.append(Side(name, build, ldif, stack))
            except Failure as failure:
                if name in ("libslab", "glibc"):
                    raise
                self.left_out.append(f"{name} is left out: {failure}")

    def measure(self, load, rounds, seconds):
        progress = bench.Progress(rounds * len(self.sides), rounds)
        for turn in range(rounds):
            for side in bench.order(self.sides, turn):
                progress.show(turn, side.name)
                side.turn(load, seconds)
        self.settle = SETTLE * seconds
        time.sleep(self.settle)
        for side in self.sides:
            side.found["after"].append(side.server.resident() / MIB)
        progress.end()

    def stop(self):
        for side in self.sides:
            side.server.stop()

    def label(self, row):
        return row[1].format(settle=self.settle)

    def ratio(self, row):
        """libslab to the best of the others."""
        best = max if row[3] else min
        return self.sides[0].median(row[0]) / best(side.median(row[0]) for side in self.sides[1:])

    def lines(self):
        """The table."""
        yield " " * 27 + "".join(f"{side.name:>9}" for side in self.sides) + f"{'ratio':>8}"
        for row in ROWS:
            values = "".join(f"{side.median(row[0]):9.{row[2]}f}" for side in self.sides)
            yield f"{self.label(row):<27}{values}{self.ratio(row):8.2f}"
