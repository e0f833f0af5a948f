# SPDX-License-Identifier: MIT
"""The trace that the case `trace` replays: recorded from dirsrv/directory at first use."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CATALOGUE = "/var/lib/dpkg/status"  # what the directory loads
LDIF = os.path.join(HERE, "../../dirsrv/directory/people.ldif")
EVENTS = 4000000  # a third of them loads the directory
MAX_WORKERS = 16
LOAD_S = 600      # the recording ends the directory long before
PROGRESS = "recorded "


def workers():
    """As many workers as listeners, and in all a CPU for each."""
    return max(1, min(MAX_WORKERS, len(os.sched_getaffinity(0)) // 2))


def why_not(binaries, path):
    """The error of reading a trace, which includes its self-check; "" if there is none."""
    result = subprocess.run([os.path.join(binaries, "objects-malloc"), "--trace", path, "--list"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            check=False)
    return result.stderr.strip().split(": ", 1)[-1] if result.returncode else ""


def show_progress(process):
    """Shows the recorder's progress; returns the last other line of the process."""
    error = ""
    for line in process.stderr:
        if not line.startswith(PROGRESS):
            error = line.strip() or error
        elif sys.stderr.isatty():
            print(f"\r{line.strip()} of the directory's allocations and frees", end="",
                  file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r" + " " * 78 + "\r", end="", file=sys.stderr)
    return error


def record(parser, build, path):
    """Run the directory until the recorder has its events and ends it."""
    print(f"recording {EVENTS // 1000000} million allocations and frees of build/bin/directory to "
          f"{os.path.relpath(path)} (once; some seconds)", file=sys.stderr)
    environment = dict(os.environ, SLAB_CONTROL="off", OBJECTS_TRACE=path,
                       OBJECTS_TRACE_EVENTS=str(EVENTS),
                       LD_PRELOAD=os.path.abspath(os.path.join(build, "lib/record_objects.so")))
    command = [os.path.join(build, "bin/directory"), "--slabinfo", "off",
               "--seconds", str(LOAD_S), "--threads", str(workers())]
    if not os.path.exists(CATALOGUE):
        command += ["--ldif", LDIF]
    try:
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            error = show_progress(process)
    except OSError as failure:
        parser.refuse(f"cannot run {command[0]}: {failure.strerror}; run ./run build first")
    if process.returncode or not os.path.exists(path):
        parser.refuse(f"the directory was not recorded: {error or f'status {process.returncode}'}")


def find(parser, build, given):
    """The path of a trace that is sound: the given one, or one of this machine."""
    binaries = os.path.join(build, "bin")
    path = given or os.path.join(build, "bench", f"objects-{2 * workers()}.trace")
    if given or os.path.exists(path):
        why = why_not(binaries, path)
        if not why:
            return path
        if given:
            parser.refuse(why)
        print(f"{why}: it is recorded again", file=sys.stderr)
    record(parser, build, path)
    why = why_not(binaries, path)
    if why:
        parser.refuse(why)
    return path
