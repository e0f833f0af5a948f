# SPDX-License-Identifier: MIT
"""slab-perf flame: samples of perf as a flame graph.

perf takes a sample of each thread 199 times in a second of its CPU time, with a copy of the stack:
optimized code has no frame pointers.
"""
import os
import re
import shutil
import signal
import subprocess
import tempfile

from . import svg
from .failure import Failure
from .target import Process

FREQUENCY = 199
STACK_BYTES = 16384
FRAME = re.compile(r"\s+[0-9a-f]+ (.*) \((.*)\)$")


def check():
    if not shutil.which("perf"):
        raise Failure("perf is missing: install the package linux-perf")


def perf(arguments, **how):
    """Run perf to its end; returns its output."""
    done = subprocess.run(["perf", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", check=False, **how)
    if done.returncode:
        raise Failure(f"perf {arguments[0]} failed: {first_line(done.stderr)}")
    return done.stdout


def first_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line != "Error:"), "no reason given")


def stacks(text):
    """[frames] of each sample in the output of perf script, from the outermost on. A frame is
    (function, file)."""
    frames = []
    for line in [*text.splitlines(), ""]:
        found = FRAME.match(line)
        if found:
            symbol, file = found[1], os.path.basename(found[2])
            frames.append((f"[{file}]" if symbol == "[unknown]" else symbol, file))
        elif not line.strip() and frames:
            yield frames[::-1]
            frames = []


def record(options, path):
    """Take samples until the process ends, the time is over, or ^C."""
    event = "cpu-clock" if os.geteuid() == 0 else "cpu-clock:u"
    what = ["-p", str(options.pid)] if options.pid else ["--", *options.command]
    process = subprocess.Popen(
        ["perf", "record", "-q", "-F", str(FREQUENCY), "-e", event, "--call-graph",
         f"dwarf,{STACK_BYTES}", "-m", "4M", "-o", path, *what],
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    errors = ""
    try:
        _, errors = process.communicate(timeout=options.seconds)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    if not os.path.exists(path) or not os.path.getsize(path):
        raise Failure(f"perf record failed: {first_line(errors)}")


def samples(options):
    """The output of perf script, and what to call the picture."""
    if options.input:
        try:
            with open(options.input, encoding="utf-8", errors="replace") as file:
                return file.read(), os.path.basename(options.input)
        except OSError as error:
            raise Failure(f"{options.input}: {error.strerror}") from error
    check()
    name = (f"{Process(options.pid).name} ({options.pid})" if options.pid
            else os.path.basename(options.command[0]))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "perf.data")
        record(options, path)
        return perf(["script", "--no-inline", "-F", "comm,tid,ip,sym,dso", "-i", path]), name


def run(options):
    text, name = samples(options)
    found = list(stacks(text))
    if not found:
        raise Failure(f"no samples: {name} used no CPU time, or the file is not from perf script")
    picture = svg.draw(found, f"{name}: CPU time, {len(found)} samples")
    try:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(picture)
    except OSError as error:
        raise Failure(f"{options.output}: {error.strerror}") from error
    share = sum(any(svg.is_slab(file) for _, file in frames) for frames in found) / len(found)
    print(f"{options.output}: {len(found)} samples, {share:.0%} of them in libslab")
