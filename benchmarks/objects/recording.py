# SPDX-License-Identifier: MIT
"""The trace that the case `trace` replays: recorded from the example directory at first use."""
import os
import subprocess
import sys

from runner import Failed

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
CATALOGUE = "/var/lib/dpkg/status"  # what the directory loads
EVENTS = 4000000  # a third of them loads the directory
MAX_WORKERS = 16
LOAD_S = 600      # the recording ends the directory long before


def workers():
    """As many workers as listeners, and in all a CPU for each."""
    return max(1, min(MAX_WORKERS, len(os.sched_getaffinity(0)) // 2))


def why_not(build, path):
    """The error of reading a trace; "" if there is none."""
    result = subprocess.run([os.path.join(build, "bin/objects-malloc"), "--trace", path, "--list"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    return result.stderr.strip().split(": ", 1)[-1] if result.returncode else ""


def record(build, path):
    """Run the directory until the recorder has its events and ends it."""
    print(f"recording {EVENTS // 1000000} million allocations and frees of build/bin/directory to "
          f"{os.path.relpath(path)} (once; some seconds)", file=sys.stderr)
    environment = dict(os.environ, SLAB_CONTROL="off", OBJECTS_TRACE=path, OBJECTS_TRACE_EVENTS=str(EVENTS),
                       LD_PRELOAD=os.path.abspath(os.path.join(build, "lib/record_objects.so")))
    command = [os.path.join(build, "bin/directory"), "--seconds", str(LOAD_S),
               "--threads", str(workers())]
    if not os.path.exists(CATALOGUE):
        command += ["--ldif", os.path.join(ROOT, "dirsrv/directory/people.ldif")]
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode or not os.path.exists(path):
        raise Failed(f"the directory was not recorded: {(done.stderr.splitlines() or ['?'])[-1]}")


def find(build, given):
    """The path of a trace that is sound: the given one, or one of this machine."""
    path = given or os.path.join(build, "bench", f"objects-{2 * workers()}.trace")
    why = why_not(build, path) if given or os.path.exists(path) else "there is none"
    if why and given:
        raise Failed(why)
    if why:
        record(build, path)
        why = why_not(build, path)
    if why:
        raise Failed(why)
    return path
