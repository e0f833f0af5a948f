# SPDX-License-Identifier: MIT
"""./run demo as users run it: what it prints, how it ends, what it leaves behind.

usage: demo_test.py BUILD PART
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "../../..")
DEMO = os.path.join(TOP, "dirsrv/demo/demo.py")
LDIF = os.path.join(TOP, "dirsrv/directory/people.ldif")
QUICK = ("--ldif", LDIF, "--seconds", "0.3")
DEADLINE_S = 120


def start(folder, *options, path=None):
    """The demo in a process group and with a folder for temporary files of its own."""
    environment = {**os.environ, "TMPDIR": folder}
    if path:
        environment["PATH"] = path
    return subprocess.Popen(  # pylint: disable=consider-using-with
        [sys.executable, DEMO, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, start_new_session=True)


def processes(group):
    """The processes of a group that have not ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                state, _, its_group = file.read().rsplit(") ", 1)[1].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            found.append(pid)
    return found


def finished(process, folder):
    """Its status and output; it must have left nothing behind."""
    out, err = process.communicate(timeout=DEADLINE_S)
    assert not processes(process.pid), f"processes are left\n{out}{err}"
    assert not os.listdir(folder), f"files are left: {os.listdir(folder)}\n{out}{err}"
    return process.returncode, out, err


def run(*options, path=None):
    with tempfile.TemporaryDirectory() as folder:
        return finished(start(folder, *options, path=path), folder)


def every_part_is_shown(build):
    status, out, err = run("--build", build, *QUICK)
    assert status == 0, out + err
    parts = (r"^ldapd, process \d+: 5 entries loaded in [\d.]+ s from ",
             r"^dn: uid=\w+,ou=people,dc=example,dc=com$",
             r"^all +\d+ ",
             r"^\$ slabinfo --pid \d+ -S -N 12$",
             r"^ldapd\.\w+ +\d+ +\d+ ",
             r"^\$ slabinfo --pid \d+ -S '.*'$",
             r"^ldapd\.operation .*debug flags: none -> FZPU",
             r"^ldapd\.operation: freed objects by call site$",
             r"^ *\d+ operation_free\+0x\w+ \(operation\.c:\d+\)",
             r"^ldapd\.operation +no problems found$",
             r"^ldapd\.operation .*debug flags: FZPU -> none",
             r"^Meanwhile ldapd answered [\d,]+ operations per second\.$",
             r"^ldapd has stopped; each of its caches was empty",
             r"^BUG entry: Right Redzone overwritten$",
             r"^A picture of the objects .*demo\.svg$",
             r"^    LD_PRELOAD=.*libslab_malloc\.so\.0 PROGRAM &\n.*slabinfo --pid")
    at = 0
    for part in parts:
        found = re.compile(part, re.MULTILINE).search(out, at)
        assert found, f"{part} is not in its place\n{out}{err}"
        at = found.start()
    own = out[out.index("-S '^(pblock"):out.index("== under load: debugging")]
    for name in ("pblock", "ldapd.entry", "ldapd.operation"):
        assert re.search(rf"^{name} +\d+ +\d+ ", own, re.MULTILINE), own
    with open(f"{build}/demo.svg", encoding="utf-8") as file:
        assert file.read().rstrip().endswith("</svg>")


def wrong_options_are_refused(build):
    for options in (("--seconds", "0"), ("--seconds", "x"), ("--seconds",),
                    ("--ldif", "/nonexistent"), ("--nonsense",), ("--sec", "1"), ("more",)):
        status, out, err = run("--build", build, *options)
        assert status == 2 and not out and err.count("\n") == 1, (options, status, out, err)
        assert err.startswith("demo: "), err


def run_refuses_them_before_it_builds(_):
    done = subprocess.run([f"{TOP}/run", "demo", "--seconds", "0"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and "building" not in done.stdout, done
    assert "'0' is no number from 0.2 to 3600" in done.stderr, done


def run_prints_the_same_help(_):
    helps = [subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
             for command in ([f"{TOP}/run", "demo"], [sys.executable, DEMO])]
    assert helps[0] == helps[1] and "--ldif" in helps[0], helps


def a_missing_program_is_reported(build):
    status, _, err = run("--build", "/nonexistent", *QUICK)
    assert status == 1 and err == ("demo: /nonexistent/bin/ldapd is missing; "
                                   "./run demo builds it\n"), err
    status, _, err = run("--build", build, *QUICK, path="/nonexistent")
    assert status == 1 and err.startswith("demo: ldapsearch is missing; "), err


def fake(folder, build, script):
    """A build folder whose ldapd is a script."""
    os.mkdir(f"{folder}/bin")
    for program in os.listdir(f"{build}/bin"):
        if program != "ldapd":
            os.symlink(os.path.abspath(f"{build}/bin/{program}"), f"{folder}/bin/{program}")
    with open(f"{folder}/bin/ldapd", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(f"{folder}/bin/ldapd", 0o755)
    return folder


def a_server_that_does_not_start_is_reported(build):
    with tempfile.TemporaryDirectory() as folder:
        broken = fake(folder, build, "echo error: no luck >&2; exit 1")
        status, _, err = run("--build", broken, *QUICK)
    assert status == 1 and err == "demo: ldapd did not start: error: no luck\n", err


def a_server_that_ends_is_reported(build):
    with tempfile.TemporaryDirectory() as folder:
        script = f"{os.path.abspath(build)}/bin/ldapd \"$@\" & sleep 1; kill -9 $!; exit 3"
        broken = fake(folder, build, script)
        status, _, err = run("--build", broken, "--ldif", LDIF, "--seconds", "5")
    assert status == 1 and "demo: ldapd has ended with status 3" in err, err


def an_empty_directory_is_reported(build):
    with tempfile.NamedTemporaryFile(suffix=".ldif") as file:
        status, _, err = run("--build", build, "--ldif", file.name)
    assert status == 1 and err == "demo: ldapd found no entry to load\n", err


def an_interrupt_leaves_nothing(build):
    """In each part: under a load in the foreground, then in the background."""
    for number, part in ((signal.SIGINT, "ldapload"), (signal.SIGTERM, "-da"), (signal.SIGHUP, "-S -N")):
        with tempfile.TemporaryDirectory() as folder:
            process = start(folder, "--build", build, "--ldif", LDIF, "--seconds", "0.5")
            try:
                while part not in process.stdout.readline():
                    assert process.poll() is None
                if number == signal.SIGINT:  # as a terminal does
                    os.killpg(process.pid, number)
                else:
                    process.send_signal(number)
                begin = time.monotonic()
                status, out, err = finished(process, folder)
                assert status == 130 and err.endswith("demo: interrupted\n"), (status, out, err)
                assert time.monotonic() - begin < 10
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


TESTS = {
    "shown": [every_part_is_shown],
    "options": [wrong_options_are_refused, run_refuses_them_before_it_builds,
                run_prints_the_same_help],
    "failures": [a_missing_program_is_reported, a_server_that_does_not_start_is_reported,
                 a_server_that_ends_is_reported, an_empty_directory_is_reported],
    "interrupt": [an_interrupt_leaves_nothing],
}


def main():
    failures = 0
    for test in TESTS[sys.argv[2]]:
        try:
            test(sys.argv[1])
        except Exception as error:  # pylint: disable=broad-except
            failures += 1
            print(f"FAILED {test.__name__}: {type(error).__name__}: {error}")
    sys.exit(1 if failures else 0)


main()
