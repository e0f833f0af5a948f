# SPDX-License-Identifier: MIT
"""The machine of a run: what its figures depend on."""
import os
import re
import subprocess

import bench


def said(command):
    """The first line that a program prints, or "unknown"."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        return ran.stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def governor():
    found = bench.line_from("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", r"^(.*)$")
    return "not visible (no cpufreq)" if found == "unknown" else found


def compiler(build):
    """The compiler and its flags, from the build's cache."""
    cache = os.path.join(build, "CMakeCache.txt")
    kind = bench.line_from(cache, r"^CMAKE_BUILD_TYPE:\w+=(.*)$")
    flags = [bench.line_from(cache, rf"^{name}:\w+=(.*)$")
             for name in ("CMAKE_C_FLAGS", f"CMAKE_C_FLAGS_{kind.upper()}")]
    program = bench.line_from(cache, r"^CMAKE_C_COMPILER:\w+=(.*)$")
    options = re.sub(r"unknown", "", " ".join(flags)).strip()
    return f"{said([program, '--version'])}, {kind} {options}".rstrip()


def commit(root):
    found = said(["git", "-C", root, "describe", "--always", "--abbrev=10"])
    changed = said(["git", "-C", root, "status", "--porcelain", "--untracked-files=no"])
    return found + ("" if changed == "unknown" else ", with changes that are not committed")


def described(root, build):
    """Lines of "what: value"."""
    cpu = bench.line_from("/proc/cpuinfo", r"^model name\s*: (.*)$")
    return [
        f"CPU: {cpu}, {len(os.sched_getaffinity(0))} CPUs",
        f"system: {bench.line_from('/etc/os-release', r'''^PRETTY_NAME=.(.*).$''')}",
        f"kernel: {os.uname().sysname} {os.uname().release}",
        f"frequency governor: {governor()}",
        bench.huge_pages(),
        f"compiler: {compiler(build)}",
        f"commit: {commit(root)}",
        "load at the start: " + ", ".join(f"{load:.1f}" for load in os.getloadavg()),
    ]
