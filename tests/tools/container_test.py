# SPDX-License-Identifier: MIT
"""slabinfo and processes in containers: what it shows, what it changes, and whom it does not believe.

usage: container_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import ctypes
import errno
import os
import struct
import subprocess
import unittest
from pathlib import Path

from processes import BUILD, SLABINFO, Case, Program, Server, row_of

LIBC = ctypes.CDLL(None, use_errno=True)
SET_SECCOMP, FILTER, OPENAT2 = 22, 2, 437
UNSHARE = ["/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child"]
AS_NOBODY = ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/unshare", "--user",
             "--map-root-user", "--mount", "--pid", "--fork"]
# Its runtime directory and its program are in a file system that nobody else sees.
SCRIPT = """ && mount -t tmpfs none "$0" && cp "$1" "$0/program" && export SLAB_RUNTIME_DIR="$0" && exec "$0/program" plain"""


def refuse_openat2(error):
    """From now on, in this process and in what it becomes."""
    rules = ((0x20, 0, 0, 0), (0x15, 0, 1, OPENAT2), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7fff0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    if LIBC.prctl(SET_SECCOMP, FILTER, struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(code)), 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filters")


class Contained(Program):
    """A server in a container that unshare(1) makes: it sees other files and other pids than the test."""

    do_task = Server.do_task

    def __init__(self, test, folder, unshare=tuple(UNSHARE), before="true"):
        super().__init__(test, *unshare, "/bin/sh", "-c", before + SCRIPT, folder, BUILD / "bin/control_server")
        ready = self.line()
        test.assertTrue(ready.startswith("ready "), ready)
        # As it is called here.
        self.number = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="utf-8").strip()

    def end(self, *_):
        if self.process.returncode is None:
            self.finish()


class Container(Case):
    def setUp(self):
        super().setUp()
        self.need(UNSHARE)

    def need(self, unshare):
        """Skip the test if this user cannot make containers so."""
        ran = subprocess.run([*unshare, "/bin/true"], text=True, check=False, stderr=subprocess.PIPE)
        if ran.returncode:
            self.skipTest("no containers here: " + ran.stderr)

    def socket_of(self, process):
        """As it is called outside."""
        return f"/proc/{process.number}/root{self.folder}/slab/1.sock"

    def test_one_is_listed_and_chosen(self):
        process = Contained(self, self.folder)
        self.assertFalse(Path(self.folder, "slab/1.sock").exists())
        self.assertEqual(row_of(self.slabinfo("--list"), process.number), [process.number, "program", "socket"])
        self.assertEqual(row_of(self.slabinfo(), "entry")[1], "500")

    def test_actions_work_and_functions_have_names(self):
        process = Contained(self, self.folder)
        self.assertIn("-> U", self.slabinfo("-p", process.number, "-du", "entry"))
        process.do_task("l")
        self.assertIn("leak_entries+0x", self.slabinfo("-p", process.number, "-t", "entry"))

    def test_actions_work_in_a_user_namespace(self):
        """Root of this machine is nobody in there."""
        self.need(AS_NOBODY)
        process = Contained(self, "/mnt", AS_NOBODY)
        self.assertIn("-> U", self.slabinfo("-p", process.number, "-du", "entry"))

    def test_nobody_else_is_changed_in_its_name(self):
        """It puts the socket of a process outside in place of its own."""
        outside = Server(self)
        process = Contained(self, self.folder, before='mount --bind "$0" /mnt')
        path = self.socket_of(process)
        os.unlink(path)
        os.symlink(f"/mnt/slab/{outside.pid}.sock", path)
        self.refused(["-p", process.number, "-du", "entry"],
                     f'process {process.number} (program) does not listen on "{path}": another process does')

    def test_links_do_not_lead_out(self):
        """The root that counts is the container's."""
        outside = Server(self)
        process = Contained(self, self.folder)
        os.unlink(self.socket_of(process))
        os.symlink(f"{self.folder}/slab/{outside.pid}.sock", self.socket_of(process))
        self.refused(["-p", process.number, "-du", "entry"],
                     f"process {process.number} (program) does not answer: No such file or directory")

    def run_without_openat2(self, error, *words):
        """As on an old kernel (ENOSYS), or in a sandbox (EPERM)."""
        try:
            return subprocess.run([SLABINFO, *words], text=True, capture_output=True, check=False,
                                  preexec_fn=lambda: refuse_openat2(error))
        except subprocess.SubprocessError:
            return self.skipTest("no seccomp filters here")

    def test_old_kernels_and_sandboxes_reach_them(self):
        """They refuse the call that opens a path in the root of a container."""
        process = Contained(self, self.folder)
        for error in errno.ENOSYS, errno.EPERM:
            ran = self.run_without_openat2(error, "-p", process.number, "--mark")
            self.assertIn(" is set in process ", ran.stdout, ran.stderr)

    def test_old_kernels_follow_no_link(self):
        outside = Server(self)
        process = Contained(self, self.folder, before='mount --bind "$0" /mnt')
        os.unlink(self.socket_of(process))
        os.symlink(f"/mnt/slab/{outside.pid}.sock", self.socket_of(process))
        ran = self.run_without_openat2(errno.ENOSYS, "-p", process.number, "-du", "entry")
        self.assertEqual(ran.stderr, f"slabinfo: process {process.number} (program) does not answer: "
                                     "Too many levels of symbolic links\n")

    def test_files_of_another_name_are_not_opened(self):
        """What is mapped lies below a file system in which the program's path leads out."""
        process = Contained(self, self.folder)
        self.slabinfo("-p", process.number, "-du", "entry")
        process.do_task("l")
        subprocess.run(["/usr/bin/nsenter", "--mount", "--target", process.number, "/bin/sh", "-c",
                        'mount -t tmpfs none "$0" && ln -s /bin/true "$0/program"', self.folder], check=True)
        self.assertIn("leak_entries+0x", self.slabinfo("-p", process.number, "-t", "entry"))

    def test_others_are_listed_for_root(self):
        process = Program(self, "/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", BUILD / "bin/control_server", "plain")
        process.line()
        self.assertEqual(row_of(self.slabinfo("--list"), str(process.pid))[1], "control_server")


unittest.main()
