# SPDX-License-Identifier: MIT
"""Code that the benchmarks' run.py share: arguments and their error messages, which contestants
take part and in which order, and a description of the machine.
"""
import argparse
import glob
import os
import re
import sys
import time

EXIT_USAGE = 2


class Parser(argparse.ArgumentParser):
    """argparse with one-line error messages; it also checks the values of options."""

    def __init__(self, name, description):
        super().__init__(prog=f"./run bench {name}", description=description)
        self.name = name

    def error(self, message):
        self.refuse(f"{message}; --help lists the options")

    def refuse(self, text):
        print(f"bench {self.name}: {text}", file=sys.stderr)
        sys.exit(EXIT_USAGE)

    def number(self, option, text, default, low, high):
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
            self.refuse(f"{option} wants a number from {low} to {high}, not '{text}'")
        return int(text)

    def contestants(self, text, there):
        """The chosen contestants, in the order of `there`."""
        names = list(there) if text is None else text.split(",")
        for name in names:
            if name not in there:
                self.refuse(f"there is no contestant '{name}'; there are: {', '.join(there)}")
        return [name for name in there if name in names]

    def cases(self, text, there):
        """Those that a regular expression matches; all without one."""
        try:
            wanted = [case for case in there if text is None or re.search(text, case)]
        except re.error as error:
            self.refuse(f"--cases '{text}' is no regular expression: {error}")
        if not wanted:
            self.refuse(f"--cases '{text}' matches none of: {' '.join(there)}")
        return wanted

    def take_part(self, contestants):
        """The contestants that can run, and a message for each that cannot."""
        able, left_out = [], []
        for contestant in contestants:
            why = contestant.why_not()
            if why is None:
                able.append(contestant)
            else:
                left_out.append(f"{contestant.name} is left out: {why}")
                print(left_out[-1], file=sys.stderr)
        if not able:
            self.refuse("no contestant can run")
        return able, left_out


def library(name):
    """Where the dynamic linker would find a library to preload, or None."""
    for pattern in ("/usr/lib/*/", "/usr/lib/", "/usr/local/lib/"):
        for path in sorted(glob.glob(pattern + name)):
            return path
    return None


def order(contestants, turn):
    """Everybody once, another one first each time, every second time backwards."""
    first = turn % len(contestants)
    turned = contestants[first:] + contestants[:first]
    return turned[::-1] if turn % 2 else turned


def line_from(path, pattern):
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.M)
            return found.group(1) if found else "unknown"
    except OSError:
        return "unknown"


def machine():
    cpu = line_from("/proc/cpuinfo", r"^model name\s*: (.*)$")
    system = line_from("/etc/os-release", r'^PRETTY_NAME="(.*)"$')
    cpus = len(os.sched_getaffinity(0))
    return (f"{cpu}, {cpus} CPUs, {system}, Linux {os.uname().release}; "
            f"{time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f} at the start")
