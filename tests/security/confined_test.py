# SPDX-License-Identifier: MIT
"""A process that uses libslab needs the system calls that docs/security.md lists, and no others.

usage: confined_test.py CONFINED SLABINFO SYSCALLS.DEF SECURITY.MD

The program confined is killed by any other call. slabinfo switches what it does, and after each
switch it runs through its work once more. Exit status 77: the kernel installs no filter.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SWITCHES = [["-da", "object"], ["-t", "object"], ["-v"], ["--mark"], ["-s"], ["--trim"],
            ["--set", "object.limit=64M"], ["--sample=1000", "object"], ["--profile=64k"],
            ["-d", "object"], ["--json"]]
ENVIRONMENTS = [{}, {"SLAB_ENGINE": "cmpxchg16b"}, {"SLAB_ENGINE": "mutex"},
                {"SLAB_DECAY_MS": "0"}, {"SLAB_HARDEN": "on", "SLAB_DEBUG": "FZPU"},
                {"SLAB_FAKE_NODES": "2"}]


def names_of_list(path):
    return set(re.findall(r"^CALL\((\w+)\)", Path(path).read_text(), re.M))


def names_of_page(path):
    """Those of the table below the heading "System calls"."""
    section = Path(path).read_text().partition("## System calls\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("| ")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def work(process, slabinfo, folder):
    """None, or what went wrong."""
    environment = {**os.environ, "SLAB_RUNTIME_DIR": folder}
    for switch in [[]] + SWITCHES:
        if switch:
            done = subprocess.run([slabinfo, "-p", str(process.pid), *switch], env=environment,
                                  capture_output=True, text=True, timeout=60, check=False)
            # -v finds the misuse.
            if done.returncode not in ((0, 1) if switch == ["-v"] else (0,)):
                return f"slabinfo {switch}: {done.stderr}"
        process.stdin.write("go on\n")
        process.stdin.flush()
        if process.stdout.readline() != "done\n":
            return f"after slabinfo {switch}: status {process.wait()}"
    process.stdin.write("end\n")
    process.stdin.flush()
    if process.stdout.readline() != "end\n" or process.wait() != 0:
        return f"at the end: status {process.wait()}"
    return None


def run(program, slabinfo, settings):
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("SLAB_")}
        log = Path(folder, "log")
        environment.update(settings, SLAB_RUNTIME_DIR=folder, SLAB_LOG=str(log))
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=environment) as process:
            line = process.stdout.readline()
            if line == "no filter\n":
                sys.exit(77)
            if line != "ready\n":
                wrong = f"at the start: status {process.wait()}"
            else:
                wrong = work(process, slabinfo, folder)
            if wrong:
                process.kill()
        if not wrong and "BUG object: Right Redzone overwritten" not in log.read_text():
            wrong = "no report of the overflow"
        return wrong and f"{settings}: {wrong}"


def main():
    program, slabinfo, calls, page = sys.argv[1:]
    wrong = []
    difference = names_of_list(calls) ^ names_of_page(page)
    if difference:
        wrong.append(f"syscalls.def and security.md differ in {sorted(difference)}")
    wrong += [error for settings in ENVIRONMENTS if (error := run(program, slabinfo, settings))]
    print(*wrong, f"status -{signal.SIGSYS.value} is that of a call that is not allowed", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
