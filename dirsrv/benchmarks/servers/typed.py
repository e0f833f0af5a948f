# SPDX-License-Identifier: MIT
"""--typed: servers with typed caches and the same servers without, each on every allocator.

slapd and ns-slapd-source: compiled from one source, converted and as it is (./run server). ns-slapd:
Debian's, with libslab-389ds.so and without.
"""
import os
import sys

import bench
import preload
import report
import servers
import typed_chart

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers", "build"))
import ds389  # noqa: E402

OURS = "typed slab"
STOCK = tuple(f"stock {name}" for name in preload.RIVALS)
LIMITS = {"cpu": 0.95, "time": 1.0, "end": 1.0, "idle": 0.8}
MOST_CACHES_MIB = 1.0  # of 20 caches, at the start
GOALS = [report.Goal(metric, limit, OURS, STOCK) for metric, limit in LIMITS.items()] + [
    report.Goal("share", 0.7, OURS, ("stock jemalloc",)),
    report.Goal("start", MOST_CACHES_MIB * report.MIB, "typed glibc", ("stock glibc",),
                "difference"),
]
MODE = report.Mode("servers-typed", "Servers with typed caches and without them", GOALS,
                   typed_chart.svg)
CACHES = "/libslab.so"
# What dirsrv/docs/directory-servers.md tells users to set: libslab's thread, which returns idle memory.
SETTINGS = {"SLAB_CONTROL": "on"}


class Compiled:
    """A server as ./run server has compiled it; mixed into one of servers.py."""

    source, binary = None, ()  # its name for ./run server; where the program is

    def __init__(self, typed, build, work, *chosen):
        self.typed = typed
        self.built = os.path.join(os.path.abspath(build), "servers",
                                  self.source if typed else f"{self.source}-stock")
        super().__init__("", os.path.join(work, "typed" if typed else "stock"), *chosen)

    def find(self, _program):
        path = os.path.join(self.built, *self.binary)
        return path if os.access(path, os.X_OK) else None

    def missing(self):
        options = "--build" if self.typed else "--preload --build"
        return None if self.path else f"it is not compiled; ./run server {self.source} {options}"

    def is_unpacked(self):
        return False


class Slapd(Compiled, servers.Slapd):
    """OpenLDAP's."""

    source, binary = "openldap", ("build", "servers", "slapd", "slapd")

    def schema(self):
        source = "converted" if self.typed else "source"
        return os.path.join(self.built, source, "servers", "slapd", "schema")

    def modules(self):
        """None: mdb is part of the program."""
        return ""


class NsSlapdSource(Compiled, servers.NsSlapd):
    """389-ds's, in a prefix of its own."""

    name, source, binary = "ns-slapd-source", "389", ("prefix", "sbin", "ns-slapd")

    def data(self):
        return os.path.join(self.built, "prefix", "share", "dirsrv", "data")

    def etc(self):
        return os.path.join(self.built, "prefix", "etc", "dirsrv")

    def adapted(self, text, _folder):
        return ds389.without_absent(text)


class Contestant:
    """An allocator beneath a server, with typed caches or without."""

    def __init__(self, allocator, typed, library):
        self.allocator, self.library = allocator, allocator.library
        self.name = f"{'typed' if typed else 'stock'} {allocator.name}"
        self.environment = dict(allocator.environment, **SETTINGS)
        if typed and library:
            self.environment["LD_PRELOAD"] = f"{library}:{self.library}"
        self.expected = [library or CACHES] if typed else []

    def is_in(self, pid):
        """Is the allocator in a process, and what gives its types caches?"""
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            maps = file.read()
        return self.allocator.is_in(pid) and all(name in maps for name in self.expected)


def compiled(kind):
    """A function that makes both of a kind."""
    def make(args, times, work):
        return {typed: kind(typed, args.build, work, args.quick, times) for typed in (False, True)}
    return make


def ns_slapd(args, times, work):
    """The same server in both cases."""
    unpacked = os.path.abspath(os.path.join(args.build, "servers"))
    return dict.fromkeys((False, True), servers.NsSlapd(unpacked, work, args.quick, times))


MAKE = {servers.Slapd.name: (compiled(Slapd), None),
        NsSlapdSource.name: (compiled(NsSlapdSource), None),
        servers.NsSlapd.name: (ns_slapd, os.path.join("lib", "libslab-389ds.so"))}


def groups(parser, args, times, work, allocators):
    """[[(server, contestant)]], a list per server, and messages about what is left out."""
    made = {name: MAKE[name][0](args, times, work) for name in parser.cases(args.cases, list(MAKE))}
    able, left_out = servers.prepared(
        parser, dict.fromkeys(server for both in made.values() for server in both.values()),
        bench.plain_environment(work))
    found = []
    for name, both in made.items():
        library = MAKE[name][1] and os.path.abspath(os.path.join(args.build, MAKE[name][1]))
        found.append([(both[typed], Contestant(allocator, typed, library))
                      for allocator in allocators for typed in both if both[typed] in able])
    return [pairs for pairs in found if pairs], left_out
