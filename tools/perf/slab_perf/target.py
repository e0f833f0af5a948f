# SPDX-License-Identifier: MIT
"""The process that a command watches: a running one, or a new one that waits until the tracer is
ready. It knows which file has the probes, and which files its addresses lie in."""
import os
import re
import select
import shutil
import signal
import subprocess
import time

from . import elf
from .failure import Failure

MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) \S+ \d+\s+(/.*)")


def read_maps(pid):
    """(start, end, offset, path) of each mapping of a file; empty: the process has ended."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            found = [MAPPING.match(line) for line in file]
    except OSError:
        return []
    return [(int(m[1], 16), int(m[2], 16), int(m[4], 16), m[5]) for m in found if m]


def _command_name(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "?"


def _libraries(program):
    """The program and the shared libraries that the dynamic linker would load for it."""
    if not elf.is_dynamic(program):  # a script, or a program that would run
        return [program]
    listed = subprocess.run([program], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"},
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            check=False).stdout
    return [program] + re.findall(r"(/\S+) \(0x", listed)


class Process:
    """A running process."""

    def __init__(self, pid):
        self.pid = pid
        self.maps = read_maps(pid)
        if not os.path.exists(f"/proc/{pid}"):
            raise Failure(f"there is no process {pid}")
        self.name = _command_name(pid)

    def files(self):
        """Files that may have probes."""
        return sorted({path for _, _, _, path in self.maps})

    def bpftrace_options(self):
        """Breakpoints in this process only: others that use the same file are not slowed down."""
        return ["-p", str(self.pid)]

    def start(self):
        """The tracer is ready."""

    def is_running(self):
        """Also keeps the list of mappings, which a process loses when it ends."""
        maps = read_maps(self.pid)
        self.maps = maps or self.maps
        return bool(maps)

    def stop(self):
        """The command ends: a process that was there before goes on."""


class Command:
    """A command, whose process exists but does not run the program before start()."""

    def __init__(self, command):
        self.path = shutil.which(command[0])
        if not self.path:
            raise Failure(f"there is no program {command[0]}")
        self.name = os.path.basename(command[0])
        self.maps = []
        gate, self.gate = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.gate)
            self._wait_and_run(gate, command)
        os.close(gate)
        self.pidfd = os.pidfd_open(self.pid)

    def _wait_and_run(self, gate, command):
        """In the child. Without a byte from the gate, slab-perf has failed."""
        if os.read(gate, 1):
            os.close(gate)
            try:
                os.execv(self.path, command)
            except OSError as error:
                os.write(2, f"slab-perf: {self.path}: {error.strerror}\n".encode())
        os._exit(127)

    def files(self):
        return _libraries(self.path)

    def bpftrace_options(self):
        """bpftrace refuses a process that has not loaded the file yet, so the program filters."""
        return []

    def start(self):
        """Let the program run, and read its mappings when it has loaded its libraries."""
        os.write(self.gate, b"x")
        os.close(self.gate)
        self.gate = None

    def is_running(self):
        maps = read_maps(self.pid)
        if any(path == os.path.realpath(self.path) for _, _, _, path in maps):
            self.maps = maps
        return not select.select([self.pidfd], [], [], 0)[0]

    def stop(self):
        if self.gate is not None:
            os.close(self.gate)
        elif self.is_running():
            os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def of(options):
    return Process(options.pid) if options.pid else Command(options.command)


def probe_files(target):
    """The files that have probes: libslab.so, libslab_malloc.so, what contains libslab.a."""
    files = [path for path in target.files() if elf.has_probes(path)]
    if not files:
        raise Failure(f"{target.name} ({target.pid}) has no libslab with probes: either it does "
                      "not use libslab, or that was built without <sys/sdt.h>")
    return files


def watch(target, seconds, is_tracing):
    """Wait until the process ends, the time is over, the tracer ends, or ^C. Returns seconds."""
    start = time.monotonic()
    try:
        while target.is_running() and is_tracing():
            passed = time.monotonic() - start
            if seconds and passed >= seconds:
                break
            # A short command loses its mappings soon; later a look now and then is enough.
            pause = 0.01 if passed < 1 else 0.2
            time.sleep(min(pause, seconds - passed) if seconds else pause)
    except KeyboardInterrupt:
        pass
    return time.monotonic() - start
