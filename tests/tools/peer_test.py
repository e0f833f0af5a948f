# SPDX-License-Identifier: MIT
"""slabinfo and processes that listen where it connects: one that is not the process of the socket's name, one that answers
for ever, one that sends terminal commands.

usage: peer_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import ctypes
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from processes import BUILD, SLABINFO, Case, Impostor, Server, row_of

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWPID = 0x20000000
FORGED = b'{"slab":2,"ok":true,"process":{"pid":1},"caches":[{"name":"forged","object_size":8,"slabs":1}]}\n'


def say_cache(client, _):
    client.sendall(FORGED)


def drip(client, _):
    while client.send(b" "):
        time.sleep(0.2)


def drip_lines(client, request):
    """Those of reads."""
    if request.startswith(b"slab/2 ping"):
        client.sendall(b'{"slab":2,"ok":true,"root":4096,"has_caches":true}\n')
    else:
        drip(client, request)


def drip_bytes(client, request):
    """Behind the lines of reads."""
    if request.startswith(b"slab/2 read"):
        _, _, _, size, _, count = request.split()
        client.sendall(b'{"slab":2,"ok":true,"bytes":%d}\n' % (int(size) * int(count)))
    drip_lines(client, request)


def pour(client, _):
    while client.send(b" " * (1 << 20)):
        pass


def nothing():
    pass


class Listener:
    """A process that listens as process `name` (0: as itself) and answers clients as it is made to. `become` is done before
    it listens, `afterwards` when it does; `flags` of unshare()."""

    def __init__(self, test, answer, name=0, become=nothing, afterwards=nothing, flags=0):
        folder = Path(os.environ["SLAB_RUNTIME_DIR"], "slab")
        folder.mkdir(mode=0o700, exist_ok=True)
        ready, inner = os.pipe()
        if LIBC.unshare(flags):
            test.skipTest("no pid namespaces: " + os.strerror(ctypes.get_errno()))
        self.pid = os.fork()
        if not self.pid:
            try:
                signal.alarm(120)
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(str(folder / f"{name or os.getpid()}.sock"))
                become()
                listener.listen(8)
                afterwards()
                os.write(inner, b"!")
                self.serve(listener, answer)
            finally:
                os._exit(1)
        os.close(inner)
        test.addCleanup(self.end)
        if flags:  # further children are in the namespace of the test again
            with open("/proc/self/ns/pid", encoding="utf-8") as own:
                test.assertEqual(LIBC.setns(own.fileno(), flags), 0)
        test.assertEqual(os.read(ready, 1), b"!")
        os.close(ready)

    @staticmethod
    def serve(listener, answer):
        while True:
            client, _ = listener.accept()
            with client:
                try:
                    if request := client.recv(200):
                        answer(client, request)
                except ConnectionError:
                    pass

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Peer(Case):
    # --- its identity ---

    def test_a_listener_under_its_own_pid_is_believed(self):
        Listener(self, say_cache)
        self.assertIn("forged", self.slabinfo())

    def test_a_listener_under_another_pid_is_not(self):
        Listener(self, say_cache, os.getpid())
        self.refused([], "no process has slab caches")

    def test_a_process_that_takes_the_socket_over_is_not_queried(self):
        server = Server(self)
        Path(self.folder, f"slab/{server.pid}.sock").unlink()
        Listener(self, say_cache, server.pid)
        text = self.slabinfo("-p", str(server.pid))
        self.assertIn("entry", text)
        self.assertNotIn("forged", text)

    @unittest.skipIf(os.geteuid(), "only root can be two users")
    def test_a_listener_of_another_user_is_not(self):
        Listener(self, say_cache, become=lambda: os.setresuid(0, 65534, 0), afterwards=lambda: os.setresuid(0, 0, 0))
        self.refused([], "no process has slab caches")

    @unittest.skipIf(os.geteuid(), "only root can be two users")
    def test_a_listener_of_another_user_is_for_root_alone(self):
        """Even where files would let others connect."""
        def become():
            for path in (self.folder, self.folder + "/slab", f"{self.folder}/slab/{os.getpid()}.sock"):
                os.chmod(path, 0o777)
            os.setuid(65533)

        Listener(self, say_cache, become=become)
        self.assertIn("forged", self.slabinfo())
        ran = subprocess.run(["/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", SLABINFO], text=True,
                             capture_output=True, check=False)
        self.assertEqual((ran.stdout, ran.stderr), ("", "slabinfo: no process has slab caches\n"))

    @unittest.skipIf(os.geteuid(), "only root can give it up")
    def test_a_listener_that_gave_up_root_is_believed(self):
        Listener(self, say_cache, afterwards=lambda: os.setuid(65534))
        self.assertIn("forged", self.slabinfo())

    @unittest.skipIf(os.geteuid(), "only root looks into the folders of other users")
    def test_links_in_folders_of_users_are_not_followed(self):
        """They may lead to any socket of the machine. A socket is looked at."""
        folder = tempfile.TemporaryDirectory(prefix="slab-", dir="/tmp")
        self.addCleanup(folder.cleanup)
        path = Path(folder.name, "slab", f"{os.getpid()}.sock")
        path.parent.mkdir()
        del os.environ["SLAB_RUNTIME_DIR"]
        for place, link in (path, None), (Path(self.folder, "other.sock"), path):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(place))
                listener.listen(8)
                listener.settimeout(0)
                if link:
                    link.symlink_to(place)
                self.run_slabinfo("--list")
                if link:
                    self.assertRaises(BlockingIOError, listener.accept)
                else:
                    listener.accept()[0].close()
                    path.unlink()

    def test_one_in_a_container_is_called_as_it_is_here(self):
        process = Listener(self, say_cache, flags=CLONE_NEWPID)
        self.assertTrue(Path(self.folder, "slab/1.sock").exists())
        self.assertEqual(len(row_of(self.slabinfo("--list"), str(process.pid))), 3)
        self.assertIn("forged", self.slabinfo("-p", str(process.pid)))

    # --- how long it answers ---

    def test_an_answer_that_drips_is_not_waited_for(self):
        process = Listener(self, drip)
        self.assertIn(" does not answer: it took too long\n", self.slabinfo("-p", str(process.pid), status=2))

    @unittest.skipIf(os.geteuid(), "only root can give up the right to read memory")
    def test_reads_that_drip_are_not_waited_for(self):
        """Without that right, what slabinfo reads comes from the socket."""
        for answer, error in (drip_lines, "does not answer: it took too long\n"), (drip_bytes, "could not be read\n"):
            process = Listener(self, answer)
            begin = time.monotonic()
            ran = subprocess.run(["/usr/bin/setpriv", "--bounding-set", "-sys_ptrace", BUILD / "bin/slabinfo",
                                  "-p", str(process.pid)], text=True, capture_output=True, check=False)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertTrue(ran.stderr.endswith(error), ran.stderr)
            self.assertLess(time.monotonic() - begin, 20)

    def test_an_answer_without_end_is_cut_off(self):
        process = Listener(self, pour)
        self.assertIn(" sent an answer of more than 256 MiB\n", self.slabinfo("-p", str(process.pid), status=2))

    # --- what it sends ---

    def test_names_do_not_command_the_terminal(self):
        Impostor(self, lambda *_: r'{"slab":2,"ok":true,"process":{"pid":1,"engine":"\u001b[31m"},"caches":[{"name":'
                                  r'"red\u001b[31m\u009b31m","object_size":8,"slabs":1,"objects":3,"order":4}]}' + "\n")
        for words in ([], ["--report"], ["--totals"], ["--numa"]):
            self.assertNotRegex(self.slabinfo(*words), "[\x1b\x9b]")
        self.assertIn("red?[31m", self.slabinfo())
        self.assertIn(r'"red\u001b[31m', self.slabinfo("--json"))

    def test_errors_do_not_command_the_terminal(self):
        Impostor(self, lambda *_: r'{"slab":2,"ok":false,"error":"\u001b]0;x\u0007 \u009b1m"}' + "\n")
        self.assertIn(": ?]0;x? ??1m\n", self.slabinfo(status=2))


unittest.main()
