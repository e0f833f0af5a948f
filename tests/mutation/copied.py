# SPDX-License-Identifier: MIT
"""A copy of the tree in build/mutation, with a build of its own, and the tests that judge it."""
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))
import ctest_files

TREE = Path("build/mutation").resolve()
BUILD = TREE / "build"
# A mutant that allocates without end is stopped at this many bytes of resident memory.
MEMORY_MAX = 2 << 30
FOLDERS = ["cpu_cache", "base", "config", "pages", "core", "percpu", "registry", "bug", "debug",
           "rcu", "memory", "alloc", "inspect", "stats", "control", "cache"]

class Test(NamedTuple):
    name: str
    folder: str       # of tests/
    program: str      # what ninja builds
    command: tuple
    environment: tuple
    is_stress: bool


def listed_files():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    return [name for name in names if name and Path(name).is_file()]


def update():
    """Make the copy's files those of the tree, and touch no other: what is built stays."""
    names = listed_files()
    for name in names:
        to, data = TREE / name, Path(name).read_bytes()
        if not to.is_file() or to.read_bytes() != data:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(data)
            to.chmod(Path(name).stat().st_mode)
    known = set(names)
    for path in list(TREE.rglob("*")):
        name = path.relative_to(TREE)
        if path.is_file() and name.parts[0] != "build" and str(name) not in known:
            path.unlink()


def configure():
    subprocess.run(["cmake", "--preset", "release"], cwd=TREE, check=True,
                   stdout=subprocess.DEVNULL)


def build(targets, jobs, quiet=True):
    """Whether these targets could be built."""
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(["ninja", "-C", BUILD, f"-j{jobs}", *sorted(set(targets))],
                          stdout=output, stderr=output).returncode == 0


def object_of(path):
    return f"CMakeFiles/slab_testing.dir/{path}.o"


def machine_code(path):
    """The object file of a source, without what debuggers read."""
    stripped = BUILD / "stripped.o"
    subprocess.run(["objcopy", "-g", BUILD / object_of(path), stripped], check=True)
    return stripped.read_bytes()


def tests():
    """The tests of the rooms of slab/ and of cpu_cache, as ctest runs them."""
    for folder in FOLDERS:
        for test in ctest_files.tests_in(BUILD / "tests" / folder / "CTestTestfile.cmake"):
            program = Path(test.command[0])
            if program.parent == BUILD / "bin" and len(test.command) == 1:
                yield Test(test.name, folder, str(program.relative_to(BUILD)), test.command,
                           test.listed("ENVIRONMENT"), "stress" in test.listed("LABELS"))


def resident(pid):
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Run:
    """A test that runs: in a session of its own, so that nothing of it stays."""

    def __init__(self, test, seconds):
        self.test = test
        self.started = time.monotonic()
        self.deadline = self.started + seconds
        environment = {"SLAB_STRESS_SECONDS": "0.3", "GTEST_FAIL_FAST": "1", **os.environ,
                       **dict(item.split("=", 1) for item in test.environment)}
        self.process = subprocess.Popen(test.command, env=environment, cwd=BUILD / "tests",
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True,
                                        preexec_fn=limits)

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def ended(self):
        """None while it runs; then "passed", "failed", "hung" or "took memory without end"."""
        status = self.process.poll()
        if status is not None:
            self.stop()
            return "passed" if status == 0 else "failed"
        if time.monotonic() > self.deadline:
            self.stop()
            return "hung"
        if resident(self.process.pid) > MEMORY_MAX:
            self.stop()
            return "took memory without end"
        return None


def run_all(queue, seconds, jobs, each):
    """Run tests in this order, `jobs` at a time; each(run, how) ends it with True. seconds(test)
    is the time that one may take."""
    queue, running = list(queue), []
    try:
        while queue or running:
            while queue and len(running) < jobs:
                test = queue.pop(0)
                running.append(Run(test, seconds(test)))
            time.sleep(0.02)
            for run in list(running):
                how = run.ended()
                if how:
                    running.remove(run)
                    if each(run, how):
                        return
    finally:
        for run in running:
            run.stop()


def progress(text):
    """A line that the next one overwrites, on a terminal alone."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
