# SPDX-License-Identifier: MIT
"""The contestants that take malloc's place by LD_PRELOAD, and which one serves a process."""
import glob
import os

import bench

# name: the library to preload: of the build, which has rivals/ once benchmarks/rivals/build made it, or of the
# system
LIBRARIES = {
    "slab": "lib/libslab_malloc.so",
    "glibc": "libc.so.6",
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
    "jemalloc5": "rivals/jemalloc5.so",
    "mimalloc2": "rivals/mimalloc2.so",
    "mimalloc3": "rivals/mimalloc3.so",
    "snmalloc": "rivals/snmalloc.so",
    "rpmalloc": "rivals/rpmalloc.so",
    "google": "rivals/google.so",
}
# Google's tcmalloc registers its own area for restartable sequences, where the C library does not.
ENVIRONMENT = {"google": {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}}
RIVALS = tuple(name for name in LIBRARIES if name != "slab")
SYSTEM = ("/usr/lib/*/", "/usr/lib/", "/usr/local/lib/")


class Contestant:
    """One library in malloc's place, and the environment of a process that has it."""

    def __init__(self, name, build, runtime):
        self.name = name
        self.library = self.find(build)
        self.environment = bench.plain_environment(runtime) | ENVIRONMENT.get(name, {})
        if self.library:
            self.environment["LD_PRELOAD"] = self.library

    def find(self, build):
        """The path, or None."""
        name = LIBRARIES[self.name]
        if self.name == "glibc":
            return bench.line_from("/proc/self/maps", r" (/.*/libc\.so\.6)$")
        if "/" in name:
            path = os.path.abspath(os.path.join(build, name))
            return path if os.path.exists(path) else None
        return next((path for folder in SYSTEM for path in sorted(glob.glob(folder + name))), None)

    def missing(self):
        """None, or why its library is not there."""
        name = LIBRARIES[self.name]
        if self.library:
            return None
        if name.startswith("rivals/"):
            return f"{name} is not built; run benchmarks/rivals/build"
        return f"{name} is not built; run ./run build first" if "/" in name else f"{name} is not installed"

    def is_in(self, pid):
        """Is its library in the maps of a process?"""
        name = os.path.basename(os.path.realpath(self.library))
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            return any(line.rstrip().endswith("/" + name) for line in file)
