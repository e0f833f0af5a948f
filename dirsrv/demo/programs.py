# SPDX-License-Identifier: MIT
"""Programs that the demo runs, an ldapd and the load by ldapload among them, and signals that end it. A signal raises
KeyboardInterrupt, but not while a process is being started: the demo must know each process that it has to end.
"""
import base64
import collections
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 60


class Failure(Exception):
    """One sentence that says why the demo cannot go on."""


class Interrupts:
    """Whether a signal has come, and whether it has to wait. The first one counts."""
    seen = raised = held = False


def interrupt(_number, _frame):
    Interrupts.seen = True
    check_interrupt()


def check_interrupt():
    if Interrupts.seen and not Interrupts.raised and not Interrupts.held:
        Interrupts.raised = True
        raise KeyboardInterrupt


def catch_signals():
    for number in SIGNALS:
        signal.signal(number, interrupt)


def ignore_signals():
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def uninterrupted():
    """A signal waits until the end of the block."""
    Interrupts.held = True
    try:
        yield
    finally:
        Interrupts.held = False
    check_interrupt()


def run(command):
    """The output of a program that takes no time, and must succeed."""
    try:
        with uninterrupted():
            done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  timeout=PATIENCE_S, check=False)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{command[0]} has not ended after {PATIENCE_S} s") from error
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Failure(f"{os.path.basename(command[0])} failed (status {done.returncode}): {reason}")
    return done.stdout


# --- the server ---

ROOT, PASSWORD = "cn=demo", "demo"
START_S, STOP_S = 120, 30


class Server:
    """A process with a temporary database, on a free port; its folder has its log."""

    def __init__(self, program, environment, ldif, stack):
        self.name, self.process = os.path.basename(program), None
        with uninterrupted():
            self.folder = tempfile.mkdtemp(prefix="ldapd-")
            stack.callback(self.remove)
        self.log = os.path.join(self.folder, "log")
        command = [program, *(["--ldif", ldif] if ldif else ["--packages"]),
                   "--listen", "ldap://127.0.0.1:0", "--rootDN", ROOT, "--rootPassword", PASSWORD,
                   "--fsync", "no"]
        try:
            with uninterrupted(), open(self.log, "w", encoding="utf-8") as log:
                self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                    command, stdout=log, stderr=log,
                    # Its own folder goes with this one, also when it is killed.
                    env={**(environment or os.environ), "TMPDIR": self.folder})
        except OSError as error:
            raise Failure(f"{program}: {error.strerror}") from error
        self.uri = self.wait()

    @property
    def pid(self):
        return self.process.pid

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait(self):
        """Until it serves its address, which the log names."""
        end = time.monotonic() + START_S
        while not (found := re.search(r"listening on (\S+)\n", self.text())):
            if self.process.poll() is not None:
                raise Failure(f"{self.name} did not start: {self.last_line()}")
            if time.monotonic() > end:
                raise Failure(f"{self.name} does not listen after {START_S} s: {self.last_line()}")
            time.sleep(0.01)
        return found[1]

    def check(self):
        """A Failure if the process has ended."""
        if self.process.poll() is not None:
            raise Failure(f"{self.name} has ended with status {self.process.returncode}: "
                          f"{self.last_line()}")

    def last_line(self):
        lines = self.text().strip().splitlines()
        return re.sub(r"^\S+ ldapd ", "", lines[-1]) if lines else "no message"

    def loaded(self):
        """Number of entries, and seconds, of the log."""
        found = re.search(r"(\d+) entries loaded in ([\d.]+) s", self.text())
        if not found or found[1] == "0":
            raise Failure(f"{self.name} found no entry to load")
        return int(found[1]), found[2]

    def stop(self):
        """Graceful: status 0 says that each cache was empty at the end."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{self.name} does not stop within {STOP_S} s") from error
        if status:
            raise Failure(f"{self.name} ended with status {status}: {self.last_line()}")
        self.remove()

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- what clients ask ----

def search(server, *arguments):
    """The lines that Debian's ldapsearch prints."""
    return run(["ldapsearch", "-x", "-LLL", "-o", "ldif-wrap=no", "-H", server.uri,
                *arguments]).splitlines()


def operations(server):
    """How many it has executed since its start."""
    lines = search(server, "-s", "base", "-b", "cn=server,cn=monitor", "operations")
    return int(next(line for line in lines if line.startswith("operations: ")).split()[1])


def suffix(server):
    for line in search(server, "-s", "base", "-b", "", "namingContexts"):
        if line.lower().startswith("namingcontexts: "):
            return line.split(": ", 1)[1]
    raise Failure("the directory is empty")


def names(server, base):
    """The naming attribute that most entries have; of those, the value and the DN above."""
    found = collections.defaultdict(list)
    for line in search(server, "-b", base, "1.1"):
        if line.startswith("dn:: "):
            line = "dn: " + base64.b64decode(line[5:]).decode("utf-8", "replace")
        match = re.fullmatch(r"dn: ([\w-]+)=((?:\\.|[^\\,+])+),(.+)", line)
        if match:
            found[match[1].lower()].append((unescaped(match[2]), match[3]))
    if not found:
        raise Failure(f"there is no entry below {base}")
    return max(found.items(), key=lambda item: len(item[1]))


def unescaped(value):
    """A value of a DN without its backslashes (RFC 4514)."""
    octets = re.sub(rb"\\([0-9a-fA-F]{2}|.)",
                    lambda match: bytes.fromhex(match[1].decode()) if len(match[1]) == 2
                    else match[1], value.encode())
    return octets.decode("utf-8", "replace")


# --- the load by ldapload ---

MIX = "search=55,base=15,compare=15,or=5,modify=5,add=5"
CONNECTIONS, IDLE = 16, 200
WITHOUT_END_S = 3600


class Load:
    """ldapload and its options. The entries are those of `server`."""

    def __init__(self, program, server, folder):
        self.program = program
        self.base = suffix(server)
        self.attribute, entries = names(server, self.base)
        self.example = min((value for value, _ in entries), key=len)
        self.values = os.path.join(folder, "values")
        with open(self.values, "w", encoding="utf-8") as file:
            file.writelines(f"{value}\t{above}\n" for value, above in entries)

    def command(self, server, seconds, *options):
        return [self.program, "--uri", server.uri, "--bind-dn", ROOT, "--password", PASSWORD,
                "--base", self.base, "--attribute", self.attribute, "--values-from", self.values,
                "--connections", str(CONNECTIONS), "--idle", str(IDLE), "--mix", MIX,
                "--seconds", f"{seconds:g}", *options]

    def show(self, server, seconds):
        """A run with its table on the terminal."""
        with running(self.command(server, seconds), None) as process:
            status = process.wait()
        if status:
            server.check()
            raise Failure(f"ldapload ended with status {status}")

    def endless(self, server):
        return running(self.command(server, WITHOUT_END_S))


@contextlib.contextmanager
def running(command, output=subprocess.PIPE):
    """A process beside the block, which it does not outlive."""
    process = None
    try:
        with uninterrupted():
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                command, stdout=output, stderr=output, text=True)
        yield process
    finally:
        if process and process.poll() is None:
            process.kill()
            process.wait()


def end(process):
    """End a run early."""
    process.send_signal(signal.SIGINT)
    output(process)


def output(process):
    """What a run printed, which must have been without a failed operation."""
    text, errors = process.communicate()
    if process.returncode:
        lines = (errors.strip() or text.strip() or "no message").splitlines()
        program = os.path.basename(process.args[0])
        raise Failure(f"{program} ended with status {process.returncode}: {lines[-1]}")
    return text
