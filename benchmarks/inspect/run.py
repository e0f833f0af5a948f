# SPDX-License-Identifier: MIT
"""What it costs a process to be looked at.

inspect-load has very many slabs and threads at work. Its speed is measured in turns,
with nobody looking and with slabinfo looking in one way or another, round by round, so
that a busy minute of the machine meets them all. Compared are the medians; the spread
of the runs with nobody looking says what a difference is worth.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

LOOKERS = {
    "nobody": None,
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


def look(slabinfo, how, pid, env):
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


def end(looker):
    if looker:
        os.killpg(looker.pid, 15)
        looker.wait()


def measure(args, threads, env):
    bin_dir = os.path.join(args.build, "bin")
    load = start_load(os.path.join(bin_dir, "inspect-load"), args.slabs, threads, env)
    found = {name: [] for name in LOOKERS}
    for turn in range(args.rounds):
        names = list(LOOKERS)
        for name in names if turn % 2 else names[::-1]:
            looker = look(os.path.join(bin_dir, "slabinfo"), LOOKERS[name], load.pid, env)
            time.sleep(0.5)
            found[name].append(speed(load, args.seconds))
            end(looker)
        print(f"round {turn + 1} of {args.rounds}", file=sys.stderr)
    load.stdin.close()
    load.wait()
    return found


def table(found, slabs, threads):
    nobody = statistics.median(found["nobody"])
    spread = (max(found["nobody"]) - min(found["nobody"])) / nobody * 100
    lines = [
        f"{slabs} slabs, {threads} thread{'s' if threads > 1 else ''} at work; nobody looking "
        f"varies by {spread:.1f} %",
        "",
        "| looking | million op/s, median | best | slower by |",
        "|---|---|---|---|",
    ]
    for name, speeds in found.items():
        median = statistics.median(speeds)
        lines.append(
            f"| {name} | {median:.1f} | {max(speeds):.1f} | {(1 - median / nobody) * 100:+.1f} % |"
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
