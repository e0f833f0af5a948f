# SPDX-License-Identifier: MIT
"""The clients of servers, and what is read of a server meanwhile: CPU time, memory and samples of perf."""
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import threading
import time

import bench
from runner import Failed

LIMIT_S = 900
SAMPLE_S = 0.2
PERCENTILES = ("p50", "p90", "p99", "p99.9")
HZ = 1999
LEAST = 200  # samples
PERF_LIMIT_S = 60
LINE = re.compile(r"\s*[0-9a-f]+ (.*) \((.*)\)$")

# (file, functions). Allocators that are libraries: all of them. libslab_dirsrv: the bulk allocation,
# which both programs of the listener's benchmark have. malloc(): the C library's functions. Of the
# programs: what stands in libslab's place in ldapd-malloc, and slapd's lists of free objects, which
# are an allocator of its own.
MALLOC = (r"(__libc_)?(malloc|free|calloc|realloc|memalign|aligned_alloc|posix_memalign)|_int_.*|"
          r"tcache_.*|malloc_.*|unlink_chunk.*|sysmalloc.*|systrim.*|sysfree.*|arena_.*|heap_.*|"
          r"_mid_memalign|alloc_perturb|free_perturb|mtrim|int_mallinfo|ptmalloc_.*|"
          r"reused_arena|detach_arena|get_free_list|new_heap|grow_heap|shrink_heap|top_check|"
          r"(__)?(morecore|default_morecore|glibc_morecore)")
MALLOC_SIDE = r"slab_.*|allocate|front_of|free_deferred|or_abort"
SLAPD_LISTS = r"(slap_op|entry|attrs?)_(alloc|prealloc|free)"
ALLOCATING = [
    (re.compile(r"lib(slab|slab_malloc|jemalloc|tcmalloc_minimal|mimalloc)\.so.*"),
     re.compile(r".*")),
    (re.compile(r"libslab_dirsrv\.so.*"), re.compile(r"batch_.*")),
    (re.compile(r"libc\.so.*|libc-.*\.so"), re.compile(MALLOC)),
    (re.compile(r"ldapd-malloc"), re.compile(MALLOC_SIDE + r"|batch_.*")),
    (re.compile(r"slapd"), re.compile(SLAPD_LISTS)),
]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Memory(threading.Thread):
    """Anonymous memory of a process over time, for a with statement: [(seconds, bytes)]."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.over, self.begin, self.samples = pid, threading.Event(), time.monotonic(), []

    def sample(self):
        self.samples.append((time.monotonic() - self.begin, bench.resident(self.pid)))
        return self.samples[-1][1]

    def run(self):
        try:
            while not self.over.wait(SAMPLE_S):
                self.sample()
        except (OSError, KeyError):
            pass  # the server has ended

    def __enter__(self):
        self.sample()
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def figures(self):
        values = [value for _, value in self.samples]
        half = [value for s, value in self.samples if s > self.samples[-1][0] / 2]
        yield from (("start", values[0]), ("peak", max(values)), ("end", values[-1]), ("growth", bench.growth(half)))


class Ldapload:
    """An ldapload, for a with statement."""

    def __init__(self, build, port, *words):
        self.process = subprocess.Popen(
            [os.path.join(build, "bin", "ldapload"), "--uri", f"ldap://127.0.0.1:{port}", "--json", *map(str, words)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def said(self):
        """What it has measured, once it has ended."""
        try:
            out, error = self.process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failed("the server or ldapload does not answer") from None
        if not out:
            raise Failed(error.strip() or f"ldapload: status {self.process.returncode}")
        found = json.loads(out)
        if found["unexpected"]:
            wrong = next((o for o in found["outcomes"] if o["unexpected"]), {"kind": "idle", "name": "connections"})
            raise Failed(f"{found['unexpected']} operations or connections failed: {wrong['kind']}: {wrong['name']}")
        return found


def answered(found):
    return sum(o["count"] for o in found["outcomes"] if o["kind"] != "connect")


def ldap_figures(found, cpu, unit="all"):
    """Of what ldapload says; `cpu`: seconds of the server's."""
    yield "rate", found[unit]["per_second"]
    yield "cpu", cpu / max(answered(found), 1)
    yield from ((metric, found["all"][metric + "_us"] * 1e-6) for metric in PERCENTILES)


def is_allocation(library, function):
    name = os.path.basename(library)
    function = function.partition("@")[0].partition(".")[0]
    return any(of.fullmatch(name) and what.fullmatch(function) for of, what in ALLOCATING)


def perf(folder, *words, limit=PERF_LIMIT_S):
    return subprocess.run(["perf", *words], cwd=folder, text=True, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=limit)


def why_not():
    """None, or why perf cannot sample."""
    if not shutil.which("perf"):
        return "perf is not installed (package linux-perf)"
    with tempfile.TemporaryDirectory(prefix="bench-perf-") as folder:
        ran = perf(folder, "record", "-q", "-e", "cpu-clock", "-o", "try", "true")
    return None if ran.returncode == 0 else "perf cannot sample here: " + \
        (ran.stderr.strip().splitlines() or ["no reason given"])[-1]


class Perf:
    """perf record of a process, for a with statement; perf begins on a command, since starting it
    takes a while.
    """

    def __init__(self, pid, folder, hz=HZ):
        self.folder = folder
        for name in ("control", "ack"):
            os.mkfifo(os.path.join(folder, name))
        # Opened for both directions: open() does not wait.
        self.control, self.ack = (os.open(os.path.join(folder, name), os.O_RDWR)
                                  for name in ("control", "ack"))
        self.process = subprocess.Popen(
            ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(hz), "-p", str(pid), "-o", "samples",
             "--delay", "-1", "--control", "fifo:control,ack"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def tell(self, command):
        os.write(self.control, command + b"\n")
        if not select.select([self.ack], [], [], PERF_LIMIT_S)[0]:
            raise Failed(f"perf does not answer to {command.decode()}")
        os.read(self.ack, 64)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.control)
        os.close(self.ack)

    def __enter__(self):
        try:
            self.tell(b"enable")
        except Failed:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.tell(b"stop")
            self.process.wait(PERF_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failed("perf does not end") from None
        finally:
            self.close()

    def share(self):
        """Of all samples, the kernel's included."""
        ran = perf(self.folder, "script", "-i", "samples", "-F", "ip,sym,dso")
        found = [LINE.match(line) for line in ran.stdout.splitlines()]
        found = [is_allocation(line[2], line[1]) for line in found if line]
        if len(found) < LEAST:
            raise Failed(f"perf has taken {len(found)} samples only")
        return sum(found) / len(found)
