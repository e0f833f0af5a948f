# SPDX-License-Identifier: MIT
"""The GoogleTest programs for aarch64, under qemu-user and in a machine that qemu makes up.

usage: suite.py [OPTION...] [TEXT...]    (./run aarch64, which installs what this needs)
  --user          only under qemu-user, with the engines that work there
  --machine       only in the machine: four CPUs, Debian's kernel; unit tests on the engine rseq,
                  stress and fork tests on every engine
  --kernel FILE   another kernel for the machine
  --folder FOLDER where to build (build/aarch64)
  TEXT            only the tests of ctest whose names contain one of these

All that is built lies in the folder. Tests that are scripts are left out: what they run is on the
machine that builds. Exit status: 0 all passed, 1 a test failed or the build did, 2 wrong usage,
77 something is missing.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import image

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
PROGRAMS = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "cmake", "ninja", "dpkg-deb")
CPUS = 4
MEMORY = 4096  # MiB; the file system is in it
# Return addresses are signed and checked; the architecture's own algorithm takes QEMU far longer.
CPU = "max,pauth-impdef=on"
HUGE_PAGES = "transparent_hugepage=madvise"  # Debian's default, always, is not what tests expect
SLOWER = 4  # than usual a child of a test may be
LATE = 1800  # seconds, after which a test hangs
LONGEST = 12  # tests whose time the end says
ENVIRONMENT = {"GTEST_BRIEF": "1", "SLAB_STRESS_SECONDS": "1", "SLAB_TEST_SLOWER": str(SLOWER)}
NO_RSEQ = "the engine rseq needs a kernel, and qemu-user has none"
OF_DOCUMENTS = "documents are the same for each machine"
OF_PAGES = "other sizes of pages are simulated under qemu-user"
OF_ENGINES = "qemu-user runs the unit tests of the engines that need nothing of the kernel"
OF_TOOLS = "tools read other processes by process_vm_readv(2), which qemu-user does not have"
OF_SCHEDULER = "its scenes are of the same C code, and take half an hour in emulation"
OF_TERMINALS = "its tests run slabinfo --top in tmux, which does not end in the machine"
# What qemu-user does not do, and the cases that need it.
NOT_EMULATED = {
    "qemu-user has no RLIMIT_AS": [
        "DepotTest.WithoutMemoryNothingIsSavedUntilThereIsSome",
        "MemoryTest.FreeSegmentsAreUnmappedForALargeAllocation",
        "MemoryTest.OutOfMemoryIsNullAndEnomem",
        "MemoryTest.OutOfMemoryStaysNullUntilSomethingIsFreed", "MemoryTest.BulkDeliversWhatThereIs",
        "MemoryTest.CreationWithoutMemoryIsEnomem", "MemoryTest.MallocWithoutMemoryIsEnomem",
        "SegmentMark.StaysBesideLargeAllocationsWhereSpaceIsShort",
        "HoldersTest.ASystemThatRefusesMemoryIsReported", "SmallProcess.WithLittleAddressSpace*",
        "TwoNodesTest.WithoutMemoryOfItsNodeACpuIsServedByAnother"],
    "qemu-user has no process_vm_readv(2)": [
        "BugInfoTest.LeavesOutWhatCannotBeRead", "BugInfoTest.ShowsDamageFarFromAGuardedObject",
        "InspectTest.*", "ObjectsTest.*", "WasteTest.*",
        "SymbolTest.ALibraryMayBeUnloadedMeanwhile",
        "SpaceTest.AVacantSlabHasNoMemoryAndIsInaccessible",
        "ApartTest.PagesGoBackAndAddressesBecomeInaccessible"],
    "qemu-user does not show which pages are in RAM": [
        "HugeTest.WhereTheSystemUsesThemAlwaysHolesStay",
        "Scattered.MemoryIsReturnedWhenALargerSlabTakesIt"],
    "qemu-user has tables of all pages that are mapped": [
        "FarMemoryTest.*", "MallocFamily.SizesThatTheMachineDoesNotHaveFail",
        "MallocFamily.AnAlignmentMayBeLargerThanTheMachinesMemory"],
    "filters of system calls are those of QEMU itself": [
        "OneThreadTest.ShrinksUnderAFilterThatKillsOnMembarrier"],
    "slab-symbolize is not among the programs": [
        "Of/TrustTest.*/AFileOfAnotherUser", "Of/TrustTest.*/AFolderOfAnotherUser"],
    "when threads fork at once, a child may wait for a lock of QEMU itself": [
        "ForkTest.SeveralThreadsForkAtOnce"],
    "children of vfork() share no memory with their parent under qemu-user": [
        "VforkTest.AChildMayAllocateFromEnginesThatLock"],
    "qemu-user has no MADV_POPULATE_WRITE": ["SegmentTest.PopulateBringsMemoryUpToThatPage"],
    "qemu-user does not say whether a fault was a read or a write": [
        "GuardTest.UseAfterFreeRead", "GuardTest.UseAfterFreeWrite", "GuardTest.ReadBeyondTheEnd",
        "GuardTest.WriteBeyondTheEnd", "GuardTest.AccessBeforeTheStart",
        "GuardTest.ASmallAlternateStackIsEnough",
        "GuardHandlerTest.IsCalledWithTheAddressAfterTheReport",
        "GuardHandlerTest.ReportsOfSeveralThreadsDoNotMix"],
    "qemu-user writes a line when a signal ends a program": [
        "FaultTest.AHandlerForOneFaultIsCalledOnce", "FaultTest.WithoutAHandlerTheProcessDies",
        "FaultTest.ABusErrorKills", "FaultTest.ASignalThatWasSentKills",
        "BadPointerFaultTest.WithoutTheHandlerABadPointerIsAFault",
        "NofailDeathTest.WithoutAHandlerOneLineSaysWhy",
        "NofailDeathTest.AHandlerThatGivesUpEndsIt",
        "NofailDeathTest.AFailureWithinTheHandlerEndsIt",
        "NofailDeathTest.AnImpossibleSizeEndsItAtOnce",
        "NofailDeathTest.ADestroyedCacheEndsItAtOnce"],
}
# What the machine does not have, and the cases that need it.
NOT_IN_MACHINE = {
    "libslab gives up waiting for a lock or a reader, which may be slower in the machine": [
        "Of/ReportsAtOnceTest.DoNotMix/ManyThreadsInANonBlockingPipe",
        "Stealing.WaitsForAThreadThatHoldsTheLock", "Stealing.WaitsWhileTheSlotIsClosed"],
}

Test = collections.namedtuple("Test", "name command environment timeout labels")
Result = collections.namedtuple("Result", "name end seconds output")


def say(*words):
    print("==", *words, flush=True)


def missing(what):
    print(f"aarch64: {what}", file=sys.stderr)
    sys.exit(77)


def script(name, *arguments):
    """What a script prints: a path."""
    call = subprocess.run([HERE / name, *arguments], stdout=subprocess.PIPE, text=True)
    if call.returncode or not call.stdout.strip():
        missing(f"{name} brought nothing")
    return Path(call.stdout.strip())


def build(folder, sysroot):
    where = folder / "whole"
    log = folder / "configure.log"
    with log.open("w") as file:
        status = subprocess.run(
            ["cmake", "-S", SOURCE, "-B", where, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
             f"-DCMAKE_TOOLCHAIN_FILE={HERE / 'toolchain.cmake'}", f"-DSLAB_SYSROOT={sysroot}"],
            stdout=file, stderr=file).returncode
    if status:
        print(log.read_text(), file=sys.stderr)
        sys.exit(1)
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    if subprocess.run(["ninja", "-C", where, *quiet, "tested"]).returncode:
        sys.exit(1)
    return where


def all_tests(where):
    """Every test of ctest that is a program of the build, without the emulator before it."""
    answer = subprocess.run(["ctest", "--test-dir", where, "--show-only=json-v1"], check=True,
                            stdout=subprocess.PIPE).stdout
    for test in json.loads(answer)["tests"]:
        command = test.get("command", ())
        if not command or Path(command[0]).name != "emulated.sh":
            continue
        properties = {item["name"]: item["value"] for item in test["properties"]}
        yield Test(test["name"], command[1:],
                   dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", ())),
                   LATE, properties.get("LABELS", ()))


# ---- results ----

class Tally:
    """Results as they come, and what is said of them at the end."""

    def __init__(self, place, names):
        self.place, self.names = place, names
        self.begin = self.end = time.monotonic()
        self.results, self.failed, self.skipped, self.again = [], [], [], []
        self.passed_cases = 0
        self.skipped_cases = collections.Counter()
        self.left_out = collections.Counter()
        self.filtered = {}  # reasons, and the cases that no test runs because of them

    def leave_out(self, reason):
        self.left_out[reason] += 1

    def add(self, result, again=False):
        """A result; again: the test hung before, and this is its second run."""
        self.results.append(result)
        if again:
            self.again.append(result.name)
        self.end = time.monotonic()
        print(f"[{len(self.results)}/{len(self.names)}] {result.name}: {result.end}, {result.seconds} s",
              flush=True)
        for count in re.findall(r"^\[  PASSED  \] (\d+) tests?\.", result.output, re.M):
            self.passed_cases += int(count)
        for reason in re.findall(r": Skipped\n(.*)\n", result.output):
            self.skipped_cases[reason.strip() or "no reason given"] += 1
        if result.end == "exit status 77":
            self.skipped.append(result)
        elif result.end != "passed":
            self.failed.append(result)
            print(result.output[-6000:])
            print("failed:", *failed_cases(result.output), flush=True)

    def conclude(self):
        """Whether all passed."""
        done = len(self.results)
        passed = done - len(self.failed) - len(self.skipped)
        say(f"{self.place}: {passed} tests passed with {self.passed_cases} cases,"
            f" {len(self.failed)} failed, {len(self.skipped)} skipped,"
            f" {sum(self.left_out.values())} left out,"
            f" {sum(self.skipped_cases.values())} cases skipped")
        for reason, count in self.left_out.most_common():
            print(f"   {count:4} tests left out: {reason}")
        for reason, cases in self.filtered.items():
            print(f"   {len(cases):4} cases left out: {reason}: {', '.join(cases)}")
        for reason, count in self.skipped_cases.most_common():
            print(f"   {count:4} cases skipped: {reason}")
        for result in self.skipped:
            print(f"   skipped: {result.name}: {result.output.strip()}")
        for result in self.failed:
            print(f"   failed: {result.name}: {result.end}", *failed_cases(result.output))
        for name in self.again:
            print(f"   run twice: {name}: hung in its first run")
        ended = {result.name for result in self.results}
        missing = [name for name in self.names if name not in ended]
        for name in missing:
            print(f"   did not end: {name}")
        self.say_longest()
        return not self.failed and not missing

    def say_longest(self):
        longest = sorted(self.results, key=lambda result: -result.seconds)[:LONGEST]
        print(f"   {round(self.end - self.begin)} s, of which the longest tests:",
              ", ".join(f"{result.name} {result.seconds} s" for result in longest))


def able_tests(place, tests, reason_of, filtered):
    """A tally, and the tests that can run there."""
    reasons = [reason_of(test) for test in tests]
    able = [test for test, reason in zip(tests, reasons) if not reason]
    tally = Tally(place, [test.name for test in able])
    tally.filtered = filtered
    for reason in filter(None, reasons):
        tally.leave_out(reason)
    return tally, able


def all_but(cases):
    """What has GoogleTest leave out these cases, which are listed by their reasons."""
    return {"GTEST_FILTER": "*-" + ":".join(sum(cases.values(), []))}


def failed_cases(output):
    return re.findall(r"^\[  FAILED  \] ([^\s,]+).* \(\d+ ms\)$", output, re.M)


# ---- qemu-user ----

def emulated(folder, sysroot):
    """The words before a command for aarch64, whose programs may run others."""
    interpreter = folder / "interpreter"
    qemu = script("qemu.sh", folder / "qemu")
    subprocess.run(["cc", "-static", "-O1", f'-DQEMU="{qemu}"', f'-DCPU="{CPU}"',
                    f'-DSYSROOT="{sysroot}"', "-o", interpreter, HERE / "interpreter.c"], check=True)
    words = ["unshare", "-Ur", "-m", HERE / "emulated.sh", interpreter]
    if subprocess.run([*words, sysroot / "bin/busybox", "true"]).returncode:
        missing("qemu-user needs Linux 6.7 and user namespaces; --machine does not")
    return words


def run_once(test, words):
    begin = time.monotonic()
    environment = {**os.environ, **ENVIRONMENT, **all_but(NOT_EMULATED), **test.environment}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(words + test.command, env=environment, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT)
        try:
            status = process.wait(test.timeout)
            end = f"exit status {status}" if status else "passed"
        except subprocess.TimeoutExpired:
            end = "timed out"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # it, or what it left behind
        process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Result(test.name, end, round(time.monotonic() - begin), text)


def hung(result):
    """Whether a process waited without end: the test's own, or a child of it (process.h)."""
    return (result.end in ("timed out", f"exit status -{signal.SIGALRM}")
            or f"killed by signal {signal.SIGALRM}" in result.output)


def run_emulated(test, words):
    """A test, once more if it hung: when one thread forks while another one holds a lock of QEMU
    itself, the child waits for that lock."""
    result = run_once(test, words)
    if not hung(result):
        return result, False
    return run_once(test, words), True


def user_reason(test):
    """Why qemu-user cannot run a test, or None."""
    if "docs" in test.labels:
        return OF_DOCUMENTS
    if test.environment.get("SLAB_ENGINE") == "rseq":
        return NO_RSEQ
    if test.name.startswith("schedule_test"):
        return OF_SCHEDULER
    return OF_TOOLS if "tools" in test.labels else None


def under_user(tests, folder, sysroot):
    words = emulated(folder, sysroot)
    tally, able = able_tests("qemu-user", tests, user_reason, NOT_EMULATED)
    say(f"qemu-user: {len(able)} tests")
    with concurrent.futures.ThreadPoolExecutor(3 * (os.cpu_count() or 1)) as pool:
        for done in concurrent.futures.as_completed(
                pool.submit(run_emulated, test, words) for test in able):
            tally.add(*done.result())
    return tally


# ---- the machine ----

def machine_reason(test):
    """Why the machine does not run a test, or None."""
    if "docs" in test.labels:
        return OF_DOCUMENTS
    if "SLAB_TEST_PAGE_SIZE" in test.environment:
        return OF_PAGES
    if test.name.startswith("schedule_test"):
        return OF_SCHEDULER
    if test.name.startswith("top_test"):
        return OF_TERMINALS
    if of_other_engine(test) and "unit" in test.labels and "fork" not in test.labels:
        return OF_ENGINES
    return None


def of_other_engine(test):
    return test.environment.get("SLAB_ENGINE", "rseq") != "rseq"


def line_of(test):
    """A test as init.c reads it."""
    environment = {**ENVIRONMENT, **all_but(NOT_IN_MACHINE), **test.environment}
    variables = [f"{name}={value}" for name, value in environment.items()]
    return "\t".join([test.name, str(test.timeout), *variables, *test.command]) + "\n"


def results_of(console):
    """The results that the machine's console has, as they come."""
    output = []
    for line in console:
        line = line.replace("\r", "")
        end = re.match(r"init: (\S+): (.+), (\d+) s$", line)
        if end:
            yield Result(end[1], end[2], int(end[3]), "".join(output))
            output = []
        elif not re.match(r"init: (passed|\d+ failed)$", line):
            output.append(line)
    if output:
        print("".join(output[-40:]))


def in_machine(tests, folder, where, sysroot, kernel):
    for program in ("qemu-system-aarch64", "cpio"):
        shutil.which(program) or missing(f"{program} is missing")
    kernel = kernel or script("../machines/kernel.sh", folder / "kernel", "bookworm", "arm64")
    tally, able = able_tests(f"machine, {kernel.name}", tests, machine_reason, NOT_IN_MACHINE)
    able.sort(key=of_other_engine)  # what runs nowhere else comes first
    archive = image.make(folder, where, sysroot, SOURCE, map(line_of, able),
                         {test.command[0] for test in able})
    say(f"machine: {len(able)} tests, {CPUS} CPUs, {kernel.name}, initramfs of"
        f" {image.size(archive)}")
    command = ["qemu-system-aarch64", "-machine", "virt", "-accel", "tcg,thread=multi", "-cpu", CPU,
               "-smp", str(CPUS), "-m", str(MEMORY), "-nographic", "-no-reboot", "-nic", "none",
               "-kernel", kernel, "-initrd", archive,
               "-append", f"console=ttyAMA0 quiet panic=-1 {HUGE_PAGES} JOBS={CPUS}"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as machine:
        for result in results_of(machine.stdout):
            tally.add(result)
    archive.unlink()
    return tally


def options():
    parser = argparse.ArgumentParser(prog="./run aarch64", description=__doc__.split("\n\n")[0])
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="only under qemu-user")
    place.add_argument("--machine", action="store_true", help="only in the machine")
    parser.add_argument("--kernel", type=Path, help="another kernel for the machine")
    parser.add_argument("--folder", type=Path, default=SOURCE / "build/aarch64")
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="tests whose names contain this")
    return parser, parser.parse_args()


def main():
    parser, wanted = options()
    if wanted.kernel and not wanted.kernel.is_file():
        parser.error(f"there is no kernel '{wanted.kernel}'")
    for program in PROGRAMS:
        shutil.which(program) or missing(f"{program} is missing")
    folder = wanted.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sysroot = script("sysroot.sh", folder)
    say("building for aarch64")
    where = build(folder, sysroot)
    tests = [test for test in all_tests(where)
             if not wanted.texts or any(text in test.name for text in wanted.texts)]
    if not tests:
        parser.error(f"no test has {wanted.texts} in its name")
    tallies = []
    if not wanted.machine:
        tallies.append(under_user(tests, folder, sysroot))
    if not wanted.user:
        tallies.append(in_machine(tests, folder, where, sysroot, wanted.kernel))
    sys.exit(0 if all([tally.conclude() for tally in tallies]) else 1)


if __name__ == "__main__":
    main()
