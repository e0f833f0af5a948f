# SPDX-License-Identifier: MIT
"""The servers: ldapd with each form of its listener and on each allocator, Debian's slapd and
ns-slapd; all with the same entries.
"""
import os

import cases
import preload
import servers

FORMS = ("inline", "handoff", "accept-thread", "multi")
OURS = "slab"
ALLOCATORS = ("glibc", "jemalloc", "tcmalloc", "mimalloc", "jemalloc5", "mimalloc3", "snmalloc")
DESCRIPTORS = 16384  # slapd has a table of as many connections
STALL_EVERY, STALL_MS = 100, 2000
READ_FOR_ALL = ('aci: (targetattr="*")(version 3.0; acl "read"; allow (read, search, compare) '
                'userdn="ldap:///anyone";)\n')


class Ldapd(servers.Server):
    """ldapd of this build."""

    program, package = "ldapd", None
    compares, can_stall = cases.LISTENERS, True

    def __init__(self, form, build, work, entries, threads):
        self.name = self.form = form
        self.build, self.threads = build, threads
        super().__init__("", work, False, 1)
        self.entries = entries
        self.stall = False

    def find(self, program):
        path = os.path.join(self.build, "bin", program)
        return path if os.access(path, os.X_OK) else None

    def missing(self):
        return None if self.path else f"{self.program} is not built; run ./run build first"

    def is_unpacked(self):
        return False

    def ldif(self):
        return os.path.join(self.work, "entries.ldif")

    def prepare(self, environment):
        if not os.path.exists(self.ldif()):
            self.write_entries(self.ldif())

    def command(self, folder, port):
        command = [self.path, "--listen", f"ldap://127.0.0.1:{port}", "--listener", self.form,
                   "--suffix", servers.SUFFIX, "--ldif", self.ldif(), "--fsync", "no",
                   "--index", "uid equality", "--index", "title equality",
                   "--rootDN", servers.ROOT, "--rootPassword", servers.PASSWORD,
                   "--maxConnections", str(DESCRIPTORS)]
        if self.threads:
            command += ["--threads", str(self.threads)]
        if self.stall:
            command += ["--acceptDelay", f"{STALL_EVERY}:{STALL_MS}"]
        return command


class OnAllocator(Ldapd):
    """ldapd on libslab, or on malloc() with a library in malloc's place."""

    compares, can_stall = cases.ALLOCATORS, False

    def __init__(self, name, build, work, entries, threads):
        self.allocator = None if name == OURS else preload.Contestant(name, build, work)
        if self.allocator:
            self.program = "ldapd-malloc"
        super().__init__("multi", build, work, entries, threads)
        self.name = name

    def missing(self):
        return super().missing() or (self.allocator.missing() if self.allocator else None)

    def environment(self, environment):
        preloaded = {"LD_PRELOAD": self.allocator.library} if self.allocator else {}
        return super().environment(environment) | preloaded

    def start(self, environment, folder, port):
        process = super().start(environment, folder, port)
        if self.allocator and not self.allocator.is_in(process.pid):
            servers.stop(process)
            raise servers.Failed(f"{self.allocator.library} is not in the server")
        return process


class Slapd(servers.Slapd):
    """OpenLDAP; its listener is the successor of ITS#3835's handoff."""

    compares, can_stall = cases.LISTENERS, False

    def __init__(self, build, work, entries):
        super().__init__(os.path.join(build, "servers"), work, False, 1)
        self.entries = entries


class NsSlapd(servers.NsSlapd):
    """389-ds with one listener thread."""

    compares, can_stall = cases.LISTENERS, False
    SETTINGS = dict(servers.NsSlapd.SETTINGS)
    SETTINGS["cn=config"] += (f"nsslapd-maxdescriptors: {DESCRIPTORS}",)

    def __init__(self, build, work, entries):
        super().__init__(os.path.join(build, "servers"), work, False, 1)
        self.entries = entries

    def write_entries(self, path):
        """With the right to search, which the other servers grant by default."""
        super().write_entries(path)
        with open(path, encoding="utf-8") as file:
            suffix, rest = file.read().split("\n\n", 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{suffix}\n{READ_FOR_ALL}\n{rest}")


RIVALS = (Slapd.name, NsSlapd.name)
NAMES = FORMS + RIVALS + (OURS,) + ALLOCATORS
SAMPLED = (OURS, "glibc")  # by perf


def make(name, build, work, entries, threads):
    """`threads`: of ldapd; None: its default. The others have the 16 that dirsrv/benchmarks/servers gives
    them.
    """
    if name in FORMS:
        return Ldapd(name, build, work, entries, threads)
    if name == OURS or name in ALLOCATORS:
        return OnAllocator(name, build, work, entries, threads)
    return {Slapd.name: Slapd, NsSlapd.name: NsSlapd}[name](build, work, entries)
