# SPDX-License-Identifier: MIT
"""The cost of observing a process.

inspect-load works on very many slabs with one thread or more. Each round measures its speed
unobserved, and observed by slabinfo in each way, so that a busy minute of the machine
affects all of them. The table compares medians; the spread of the unobserved runs shows
which differences are noise.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

OBSERVERS = {
    "unobserved": None,
    "--top=0.1": ["--top=0.1"],
    "--openmetrics, each second": "openmetrics",
}


def start_load(program, slabs, threads, env):
    load = subprocess.Popen(
        [program, str(slabs), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    )
    if load.stdout.readline().strip() != "ready":
        sys.exit("run.py: inspect-load did not start")
    return load


def speed(load, seconds):
    """Millions of operations a second, over this time."""
    load.stdin.write("\n")
    load.stdin.flush()
    load.stdout.readline()
    time.sleep(seconds)
    load.stdin.write("\n")
    load.stdin.flush()
    done, ns = (int(word) for word in load.stdout.readline().split())
    return done / ns * 1000


def observe(slabinfo, how, pid, env):
    if how is None:
        return None
    if how == "openmetrics":
        command = ["sh", "-c", f"while :; do {slabinfo} -p {pid} --openmetrics; sleep 1; done"]
    else:
        command = [slabinfo, "-p", str(pid), *how]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env,
        start_new_session=True,
    )


def end(observer):
    if observer:
        os.killpg(observer.pid, 15)
        observer.wait()


def measure(args, threads, env):
    bin_dir = os.path.join(args.build, "bin")
    load = start_load(os.path.join(bin_dir, "inspect-load"), args.slabs, threads, env)
    found = {name: [] for name in OBSERVERS}
    for turn in range(args.rounds):
        names = list(OBSERVERS)
        for name in names if turn % 2 else names[::-1]:
            observer = observe(os.path.join(bin_dir, "slabinfo"), OBSERVERS[name], load.pid, env)
            time.sleep(0.5)
            found[name].append(speed(load, args.seconds))
            end(observer)
        print(f"round {turn + 1} of {args.rounds}", file=sys.stderr)
    load.stdin.close()
    load.wait()
    return found


def table(found, slabs, threads):
    unobserved = statistics.median(found["unobserved"])
    spread = (max(found["unobserved"]) - min(found["unobserved"])) / unobserved * 100
    lines = [
        f"{slabs} slabs, {threads} thread{'s' if threads > 1 else ''} at work; the unobserved speed "
        f"varies by {spread:.1f} %",
        "",
        "| observed by | million op/s, median | best | slower by |",
        "|---|---|---|---|",
    ]
    for name, speeds in found.items():
        median = statistics.median(speeds)
        lines.append(
            f"| {name} | {median:.1f} | {max(speeds):.1f} | {(1 - median / unobserved) * 100:+.1f} % |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("slabs", nargs="?", type=int, default=1000000)
    parser.add_argument("rounds", nargs="?", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=7)
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    result = []
    with tempfile.TemporaryDirectory() as runtime:
        env = dict(os.environ, SLAB_RUNTIME_DIR=runtime)
        for threads in (1, os.cpu_count()):
            result.append(table(measure(args, threads, env), args.slabs, threads))
    text = "\n".join(result)
    print(text)
    with open(os.path.join(args.build, "bench", "inspect.md"), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
