#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./run demo: a directory server on libslab under load, seen from outside while it runs."""
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../benchmarks/support"))

# pylint: disable=wrong-import-position
import bench
from options import parse
from programs import (CONNECTIONS, IDLE, MIX, Failure, Load, Server, catch_signals, end,
                      ignore_signals, operations, run, running, search, uninterrupted)

EXIT_FAILURE, EXIT_INTERRUPTED = 1, 130
CACHE = "ldapd.operation"
OWN = "^(pblock|ldapd.entry|ldapd.operation)$"  # small beside those of attributes and values
CACHES_SHOWN = 12
SITE_LINES = 6  # of each list of call sites
SAMPLE_S = 0.2  # of the picture
PROGRAMS = ("ldapd", "ldapload", "slabinfo", "corruption")


def check_tools(build):
    for program in PROGRAMS:
        if not os.access(f"{build}/bin/{program}", os.X_OK):
            raise Failure(f"{build}/bin/{program} is missing; ./run demo builds it")
    if not shutil.which("ldapsearch"):
        raise Failure("ldapsearch is missing; it is in Debian's package ldap-utils")


def server_environment():
    """The user's, without libraries and settings that would change what is shown."""
    environment = bench.plain_environment("")
    del environment["SLAB_RUNTIME_DIR"]
    return environment


# ---- the screen ----

def say(text=""):
    print(text, flush=True)


def heading(text):
    say(f"\n== {text}")


def wait(duration, what):
    """Sleep, with a line that goes away on a terminal."""
    until = time.monotonic() + duration
    while (left := until - time.monotonic()) > 0:
        if sys.stderr.isatty():
            print(f"\r{what}: {left:3.1f} s\033[K", end="", file=sys.stderr, flush=True)
        time.sleep(min(left, 0.1))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def slabinfo(options, server, *arguments, lines=None):
    """Run it as an operator does, and show what it prints: of each list that a line at the margin begins,
    so many lines."""
    say(f"\n$ slabinfo --pid {server.pid} {shlex.join(arguments)}")
    shown = 0
    for line in run([f"{options.build}/bin/slabinfo", "--pid", str(server.pid), *arguments]).rstrip().split("\n"):
        shown = shown + 1 if line.startswith(" ") else 0
        if not lines or shown <= lines:
            say(line)
        elif shown == lines + 1:
            say("...")


# ---- the parts ----

def show_load(options, server, folder):
    entries, took = server.loaded()
    say(f"ldapd, process {server.pid}: {entries:,} entries loaded in {took} s from "
        f"{options.ldif or 'the package catalogue'}")
    load = Load(f"{options.build}/bin/ldapload", server, folder)
    question = f"({load.attribute}={load.example})"
    say(f"\n$ ldapsearch -x -H {server.uri} -b {load.base} '{question}'")
    found = search(server, "-b", load.base, question)
    say("\n".join([line[:79] for line in found if line][:5] + ["..."]))
    heading(f"the load: {CONNECTIONS} connections, {IDLE} idle ones, {options.seconds:g} s")
    say(f"$ ldapload --mix {MIX} ...")
    load.show(server, options.seconds)
    return load


def rate(server, duration):
    """Operations per second in the next seconds."""
    begin, at = operations(server), time.monotonic()
    wait(duration, "measuring")
    return (operations(server) - begin) / (time.monotonic() - at)


def show_debugging(options, server, load):
    """All of it on a running server, under load."""
    with load.endless(server) as process:
        heading("under load: which objects have the memory")
        wait(options.seconds / 2, "the load goes on")
        slabinfo(options, server, "-S", "-N", str(CACHES_SHOWN))
        slabinfo(options, server, "-S", OWN)

        heading("under load: debugging is switched on for one cache, and off again")
        slabinfo(options, server, "-da", CACHE)
        meanwhile = rate(server, options.seconds)
        slabinfo(options, server, "-t", CACHE, lines=SITE_LINES)
        slabinfo(options, server, "-v", CACHE)
        slabinfo(options, server, "-d", CACHE)
        say(f"\nMeanwhile ldapd answered {meanwhile:,.0f} operations per second.")
        server.check()
        end(process)


def show_report(options):
    """What debugging finds: a bug of a program that has one."""
    heading("what a report looks like: a server that writes beyond an entry")
    command = [f"{options.build}/bin/corruption", "overflow", "--debug", "FZPU"]
    say("$ " + " ".join(["SLAB_SYMBOLS=on", os.path.basename(command[0]), *command[1:]]))
    with uninterrupted():
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**server_environment(), "SLAB_SYMBOLS": "on"}, check=False)
    shown = [line for line in done.stderr.splitlines()
             if re.match(r"BUG |0x[0-9a-f]+-0x|Allocated|Detected|FIX ", line)]
    if not shown:
        raise Failure(f"corruption, status {done.returncode}, printed no report")
    say("\n".join(shown))


def draw(options, recording):
    """The picture of the load, as slabinfo draws it."""
    path = f"{options.build}/demo.svg"
    run([f"{options.build}/bin/slabinfo", f"--plot={path}", recording])
    return path


def say_goodbye(options, picture):
    heading("what you have seen")
    say(f"""You saw which types hold the memory of a running server, the checks of one type while it
answered, and a report that names a damaged object and the functions that allocated and freed it.
A picture of the objects and bytes of each type over that time: {picture}
Try next, with a program of yours:
    LD_PRELOAD={options.build}/lib/libslab_malloc.so.0 PROGRAM &
    {options.build}/bin/slabinfo --pid $!""")


def demo(options, stack):
    check_tools(options.build)
    with uninterrupted():
        folder = tempfile.mkdtemp(prefix="ldapd-demo-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    heading("a directory server on libslab")
    server = Server(f"{options.build}/bin/ldapd", server_environment(), options.ldif, stack)
    recording = f"{folder}/recording"
    record = [f"{options.build}/bin/slabinfo", f"--record={recording}", f"--interval={SAMPLE_S}",
              "--pid", str(server.pid)]
    with running(record) as recorder:
        load = show_load(options, server, folder)
        show_debugging(options, server, load)
        end(recorder)
    server.stop()
    say("\nldapd has stopped; each of its caches was empty at the end.")
    show_report(options)
    say_goodbye(options, draw(options, recording))


def main():
    options = parse(sys.argv[1:])
    stack = contextlib.ExitStack()
    catch_signals()
    try:
        demo(options, stack)
        return 0
    except Failure as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return EXIT_FAILURE
    except KeyboardInterrupt:
        print("\ndemo: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # of stdout, which the interpreter would flush again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    finally:
        ignore_signals()
        stack.close()


if __name__ == "__main__":
    sys.exit(main())
