# SPDX-License-Identifier: MIT
"""An ldapd for tests: starts it on free ports with a database of its own, and checks its end."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# What libslab and the sanitizers begin a report with.
REPORT = re.compile(r"^BUG .*|.*ERROR: \w+Sanitizer.*|.*WARNING: ThreadSanitizer.*|.*runtime error:.*",
                    re.MULTILINE)
SUFFIX = "dc=example,dc=com"
ROOT = "cn=admin"
PASSWORD = "secret"
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

    def __init__(self, program, *options, ldif=LDIF):
        self.folder = tempfile.mkdtemp(prefix="ldapd-test-")
        self.log = os.path.join(self.folder, "log")
        self.stopped = False
        path = os.path.join(self.folder, "data.ldif")
        with open(path, "w", encoding="utf-8") as file:
            file.write(ldif)
        self.local = "ldapi://" + (self.folder + "/socket").replace("/", "%2F")
        command = [program, "--ldif", path, "--listen", "ldap://127.0.0.1:0",
                   "--listen", self.local, "--rootDN", ROOT, "--rootPassword", PASSWORD,
                   "--suffix", SUFFIX, "--fsync", "no", *options]
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
