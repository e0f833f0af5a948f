# SPDX-License-Identifier: MIT
"""What constructors of typed caches can save in ns-slapd at most: how often it makes locks, such as
the one inside an entry, and BerElements, such as the one inside an operation, and how long that takes.

usage: ./run bench servers --constructors
"""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "benchmarks", "support"))
import bench  # noqa: E402
import run  # noqa: E402
import servers  # noqa: E402

LIBRARY = os.path.join("lib", "libservers-constructors.so")
LINE = re.compile(r"^timed: (\w+) (\d+) (\d+)$", re.M)
# What a constructor would make once per object; and the whole allocation of an entry, to compare.
ROWS = {"locks, most of them of entries": ("slapi_new_rwlock", "slapi_destroy_rwlock"),
        "BerElements, of operations and of answers": ("ber_alloc_t", "ber_free"),
        "entries with their lock, without their free": ("slapi_entry_alloc",)}


class Loaded:
    """ns-slapd with the preload, after the load: calls and nanoseconds by function, CPU time."""

    def __init__(self, build, work):
        self.environment = bench.plain_environment(work)
        self.client = os.path.join(build, "bin", "servers-load")
        self.server = servers.NsSlapd(os.path.abspath(os.path.join(build, "servers")), work, False, 1)
        self.library = os.path.abspath(os.path.join(build, LIBRARY))
        self.operations = self.cpu = 0
        self.calls, self.ns = {}, {}

    def run(self, work):
        folder, port = tempfile.mkdtemp(dir=work), servers.free_port()
        process = self.server.start(dict(self.environment, LD_PRELOAD=self.library), folder, port)
        try:
            before = run.cpu_and_faults(process.pid)[0]
            for phase, count in self.server.operations():
                run.Client(self.client, self.server, port, phase, count, 0)
                self.operations += count
            self.cpu = run.cpu_and_faults(process.pid)[0] - before
        finally:
            servers.stop(process)
        with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as file:
            for name, calls, ns in LINE.findall(file.read()):
                self.calls[name], self.ns[name] = int(calls), int(ns)

    def row(self, title, functions):
        per_operation = self.calls[functions[0]] / self.operations
        ns = sum(self.ns[name] for name in functions)
        share = per_operation * ns / (self.cpu / self.operations * 1e9)
        return (f"| {title} | {' + '.join(functions)} | {per_operation:.2f} | "
                f"{' + '.join(str(self.ns[name]) for name in functions)} | {share:.2%} |")

    def table(self):
        head = ["| | functions | per operation | ns | of the CPU time |", "|---|---|---:|---:|---:|"]
        return head + [self.row(title, functions) for title, functions in ROWS.items()]


def main():
    parser = bench.Parser("servers --constructors", __doc__)
    parser.add_argument("--build", default="build")
    args = parser.parse_args()
    servers.limit_descriptors()
    with servers.work_folder("constructors") as work:
        loaded = Loaded(args.build, work)
        servers.prepared(parser, [loaded.server], loaded.environment)
        print("ns-slapd under load, some two minutes", file=sys.stderr)
        try:
            loaded.run(work)
        except servers.Failed as error:
            parser.refuse(str(error))
    if "slapi_new_rwlock" not in loaded.calls:
        parser.refuse(f"{loaded.library} wrote nothing; run ./run build first")
    print(f"{bench.machine()}\n{loaded.operations} operations, {loaded.cpu / loaded.operations * 1e6:.0f} µs of "
          "CPU time each; ns: medians\n")
    print("\n".join(loaded.table()))


if __name__ == "__main__":
    main()
