# SPDX-License-Identifier: MIT
"""What it costs a process of very many slabs to be looked at. The contestant "none" is nothing at all."""
import os
import signal
import subprocess
import time

from runner import Contestant, Failed, Process

QUESTION = "the cost of being inspected"
SECONDS = (10, 840)
ROUNDS = (1, 9)
OPTIONS = {"slabs": (100000, 1000000, "slabs of the process"), "seconds": (1, 5, "of each measurement")}
METRICS = {"time": "ns", "cpu": "ns", "observer": "%"}
CASES = {"threads.1": "one thread allocates and frees; time and CPU time of an operation, of the observer its "
         "share of a CPU", "threads.all": "a thread for each CPU"}
OBSERVERS = {
    "none": None,
    "top=1": "exec {slabinfo} -p {pid} --top=1",
    "top=0.1": "exec {slabinfo} -p {pid} --top=0.1",
    "openmetrics": "while :; do {slabinfo} -p {pid} --openmetrics; sleep 1; done",
}
SHOWN = tuple(name for name in OBSERVERS if name != "none")
RIVALS = ("none",)
SETTLE_S = 0.5  # from the start of an observer to the measurement


def contestants(build):
    return [Contestant(name, os.path.join(build, "bin", "inspect-load")) for name in OBSERVERS]


def load_of(contestant, case, run):
    """The observed process, one for all contestants of a case."""
    if case not in run.kept:
        threads = 1 if case == "threads.1" else min(64, os.cpu_count())
        run.kept[case] = Process(contestant, [run.options["slabs"], threads], 3600)
        if run.kept[case].line() != "ready":
            raise Failed("inspect-load did not start")
    return run.kept[case]


def moment(load):
    load.go()
    return [int(word) for word in load.line().split()]


def measure(contestant, cases, run):
    load, how = load_of(contestant, cases[0], run), OBSERVERS[contestant.name]
    slabinfo = os.path.join(os.path.dirname(contestant.program), "slabinfo")
    observer, since = None, time.monotonic()
    if how:
        observer = subprocess.Popen(["sh", "-c", how.format(slabinfo=slabinfo, pid=load.pid)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env=contestant.environment, start_new_session=True)
    try:
        time.sleep(SETTLE_S)
        moment(load)
        time.sleep(run.options["seconds"])
        operations, elapsed, cpu = moment(load)
        yield cases[0], 0, "time", elapsed / operations
        yield cases[0], 0, "cpu", cpu / operations
        if observer and observer.poll() is not None:
            raise Failed(f"slabinfo ended with status {observer.returncode}")
    finally:
        if observer and observer.poll() is None:
            os.killpg(observer.pid, signal.SIGTERM)
            _, _, usage = os.wait4(observer.pid, 0)
            observer.returncode = 0
            share = (usage.ru_utime + usage.ru_stime) / (time.monotonic() - since)
    if observer:
        yield cases[0], 0, "observer", share * 100
