# SPDX-License-Identifier: MIT
"""An ldapd for tests, which is started on free ports with a database of its own and whose end is checked; clients of it,
sockets and connections of python-ldap; messages of LDAP as bytes, for tests that send what no library sends."""
import inspect
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import ldap

# What libslab and the sanitizers begin a report with.
REPORT = re.compile(r"^BUG .*|.*ERROR: \w+Sanitizer.*|.*WARNING: ThreadSanitizer.*|.*runtime error:.*",
                    re.MULTILINE)
SUFFIX = "dc=example,dc=com"
ROOT = "cn=admin"
PASSWORD = "secret"
NOTICE = b"1.3.6.1.4.1.1466.20036"  # of disconnection
LDIF = f"""dn: {SUFFIX}
objectClass: top
objectClass: domain
dc: example

dn: ou=people,{SUFFIX}
objectClass: organizationalUnit
ou: people

dn: uid=ann,ou=people,{SUFFIX}
objectClass: inetOrgPerson
uid: ann
cn: Ann Archer
sn: Archer
mail: ann@example.com
userPassword: cleartext

"""


def person(number, blob=0):
    """The LDIF of one more entry, with a value of `blob` bytes."""
    text = f"dn: uid=p{number},ou=people,{SUFFIX}\nobjectClass: inetOrgPerson\n" \
           f"uid: p{number}\ncn: Person {number}\nsn: {number}\n"
    if blob:
        text += "description: " + "x" * blob + "\n"
    return text + "\n"


def until(condition, what, seconds=120):
    """Wait for a condition; the time only ends a test that has failed."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain: " + what)
        time.sleep(0.01)


def outcome(call, *arguments):
    """The name of the result, its text and the matched DN."""
    try:
        call(*arguments)
    except ldap.LDAPError as error:
        return type(error).__name__, error.args[0].get("info", ""), error.args[0].get("matched", "")
    return "SUCCESS", "", ""


def refused(program, *options, status=1):
    """The last line of a start that fails."""
    done = subprocess.run([program, *options], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done
    return done.stderr.splitlines()[-1]


def tests_of(module):
    """The functions whose only parameter is the program."""
    return [function for function in module.values()
            if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["program"]]


def run_tests(tests, program, chosen=()):
    """Run them, or those whose names are `chosen`, and exit: 1 if one failed."""
    failures = 0
    for test in tests:
        if chosen and test.__name__ not in chosen:
            continue
        try:
            test(program)
        except Exception as error:  # pylint: disable=broad-except
            failures += 1
            print(f"FAILED {test.__name__}: {type(error).__name__}: {error}")
    sys.exit(1 if failures else 0)


class Server:
    """A running ldapd, with its address in `uri` and `local`."""

    def __init__(self, program, *options, ldif=LDIF, suffix=SUFFIX):
        self.folder = tempfile.mkdtemp(prefix="ldapd-test-")
        self.log = os.path.join(self.folder, "log")
        self.stopped = False
        path = os.path.join(self.folder, "data.ldif")
        with open(path, "w", encoding="utf-8") as file:
            file.write(ldif)
        self.local = "ldapi://" + (self.folder + "/socket").replace("/", "%2F")
        command = [program, "--ldif", path, "--listen", "ldap://127.0.0.1:0",
                   "--listen", self.local, "--rootDN", ROOT, "--rootPassword", PASSWORD,
                   *(["--suffix", suffix] if suffix else []), "--fsync", "no", *options]
        with open(self.log, "w", encoding="utf-8") as log:
            # What is still allocated when the server ends is reported.
            self.process = subprocess.Popen(command, stdout=log, stderr=log,
                                            env={"SLAB_LEAK_CHECK": "exit", **os.environ})
        until(lambda: self.process.poll() is not None or self.logged("listening on ldapi"),
              "the server listens")
        if self.process.poll() is not None:
            raise AssertionError(self.text())
        self.port = int(re.search(r"listening on ldap://127.0.0.1:(\d+)", self.text())[1])
        self.uri = f"ldap://127.0.0.1:{self.port}"

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def logged(self, words):
        return words in self.text()

    def stop(self):
        """SIGTERM: the server must end with status 0, all its caches empty, without a report."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        text = self.text()
        self.stopped = True
        shutil.rmtree(self.folder)
        if status != 0:
            raise AssertionError(f"exit status {status}\n{text[-3000:]}")
        report = REPORT.search(text)
        if report:
            raise AssertionError(text[report.start():report.start() + 6000])

    def kill(self):
        """SIGKILL: for tests whose operations take longer than the test."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)
        self.stopped = True

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.stopped:
            return
        if kind:
            print(self.text()[-3000:])
            self.kill()
        else:
            self.stop()


# --- clients ---

def connect(running):
    return socket.create_connection(("127.0.0.1", running.port), 60)


def read_to_end(stream):
    """Everything until the server closes the connection."""
    data = b""
    while True:
        try:
            more = stream.recv(65536)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


def read_messages(stream, count):
    """`count` messages."""
    rest, messages = b"", []
    while len(messages) < count:
        more = stream.recv(65536)
        assert more, "the server closed the connection"
        whole, rest = split(rest + more)
        messages += whole
    return messages


def client(running, dn=None, password=PASSWORD):
    """A client of python-ldap, bound with this name or anonymous."""
    connection = ldap.initialize(running.uri)
    connection.set_option(ldap.OPT_NETWORK_TIMEOUT, 60)
    connection.set_option(ldap.OPT_TIMEOUT, 60)
    if dn:
        connection.simple_bind_s(dn, password)
    return connection


def monitored(connection, name, dn="cn=server,cn=monitor"):
    """A number of cn=monitor."""
    _, entry = connection.search_s(dn, ldap.SCOPE_BASE, attrlist=[name])[0]
    return int(entry[name][0])


def answers(running):
    """The server serves a fresh client."""
    connection = client(running)
    result = connection.search_s(SUFFIX, ldap.SCOPE_BASE)
    connection.unbind_s()
    return len(result) == 1


def try_answer(running):
    try:
        return answers(running)
    except ldap.LDAPError:
        return False


# --- messages ---

def element(tag, content):
    """BER: a tag, a length, the content."""
    length = len(content)
    if length < 128:
        return bytes([tag, length]) + content
    return bytes([tag, 0x84]) + struct.pack(">I", length) + content


def text(value):
    return element(4, value.encode())


def number(value):
    return element(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def enumerated(value):
    return element(10, bytes([value]))


def message(message_id, *parts):
    return element(0x30, number(message_id) + b"".join(parts))


PRESENT = element(0x87, b"objectClass")


def search(message_id, base="", scope=0, attributes=(), find=PRESENT, controls=b""):
    content = text(base) + enumerated(scope) + enumerated(0) + number(0) + number(0) + \
        element(1, b"\0") + find + element(0x30, b"".join(text(name) for name in attributes))
    return message(message_id, element(0x63, content), controls)


def split(data):
    """The whole messages, and the rest."""
    messages = []
    while end := message_end(data):
        messages.append(data[:end])
        data = data[end:]
    return messages, data


def message_end(data):
    """The length of the first message in data; 0: it is not complete."""
    if len(data) < 2:
        return 0
    length, header = data[1], 2
    if length & 0x80:
        count = length & 0x7f
        if len(data) < 2 + count:
            return 0
        length, header = int.from_bytes(data[2:2 + count], "big"), 2 + count
    return header + length if len(data) >= header + length else 0
