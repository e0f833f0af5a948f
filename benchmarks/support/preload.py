# SPDX-License-Identifier: MIT
"""The contestants that take malloc's place by LD_PRELOAD, and which one serves a process."""
import os

import bench

# name: the library to preload, a part of its path; the first one that is there
OURS = ("lib/libslab_malloc.so", "tests/preload/libpreload_malloc.so")
LIBRARIES = {
    "slab": None,
    "glibc": "libc.so.6",
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
    "jemalloc5": "rivals/jemalloc5.so",
    "mimalloc2": "rivals/mimalloc2.so",
    "mimalloc3": "rivals/mimalloc3.so",
    "snmalloc": "rivals/snmalloc.so",
}
RIVALS = tuple(name for name in LIBRARIES if name != "slab")


class Contestant:
    """One library in malloc's place, and the environment of a process that has it."""

    def __init__(self, name, build, runtime):
        self.name = name
        self.library = self.find(build)
        self.plain = bench.plain_environment(runtime)
        self.environment = dict(self.plain)
        if self.library:
            self.environment["LD_PRELOAD"] = self.library

    def find(self, build):
        if self.name == "slab":
            paths = [os.path.abspath(os.path.join(build, path)) for path in OURS]
            return next((path for path in paths if os.path.exists(path)), None)
        if self.name == "glibc":
            return bench.line_from("/proc/self/maps", r" (/.*/libc\.so\.6)$")
        return bench.find_preload(LIBRARIES[self.name], build)

    def missing(self):
        """None, or why its library is not there."""
        if self.library:
            return None
        if self.name == "slab":
            return f"none of {', '.join(OURS)} is built; run ./run build first"
        if LIBRARIES[self.name].startswith("rivals/"):
            return f"{LIBRARIES[self.name]} is not built; run benchmarks/rivals/build"
        return f"{LIBRARIES[self.name]} is not installed"

    def is_in(self, pid):
        """Is its library in the maps of a process?"""
        name = os.path.basename(os.path.realpath(self.library))
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            return any(line.rstrip().endswith("/" + name) for line in file)
