# SPDX-License-Identifier: MIT
"""The generator of dirsrv/servers/patches, on a small server of our own.

usage: patches_test.py SOURCE_FOLDER LIBRARY_FOLDER [TEST...]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE, LIBRARY = sys.argv.pop(1), sys.argv.pop(1)
PATCHES = os.path.join(SOURCE, "dirsrv", "servers", "patches")
GENERATE = os.path.join(PATCHES, "generate.py")
TABLE = os.path.join(HERE, "patterns.table")


def generated(what, table=TABLE):
    return subprocess.run([sys.executable, GENERATE, table, what], capture_output=True, text=True,
                          check=True).stdout


class Generator(unittest.TestCase):
    """Its text; needs no spatch."""

    def test_patch_has_each_spelling_of_a_type(self):
        text = generated("patch")
        for spelling in ("malloc(sizeof(Plain))", "calloc(sizeof(struct plain), 1)", "sizeof(*P1)"):
            self.assertIn(spelling, text)

    def test_patch_has_parenthesised_frees(self):
        self.assertIn("- release((void **)(&P0))\n+ typed_plain_release(&P0)\n", generated("patch"))

    def test_kept_member_is_neither_made_nor_deleted(self):
        text = generated("patch")
        self.assertIn("- P->lock = lock_new(...);", text)
        self.assertIn("- if (P->lock) lock_delete(P->lock);", text)

    def test_scan_finds_an_untyped_allocation(self):
        for line, found in (("x = malloc(sizeof(Plain));", True), ("x = calloc(sizeof(struct plain), 1);", True),
                            ("x = malloc(sizeof(Plain *));", False), ("x = calloc(3, sizeof(Plain));", False)):
            done = subprocess.run(["grep", "-cE", generated("scan").strip()], input=line, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode == 0, found, line)

    def test_context_scan_finds_an_untyped_allocation(self):
        for line, found in (("x = e->get(sizeof(Leaf), c);", True), ("x = e->get_zeroed(1, sizeof(Leaf), c);", True),
                            ("x = malloc(sizeof(Leaf));", False), ("x = e->get(sizeof(Plain), c);", False)):
            done = subprocess.run(["grep", "-cE", generated("scan_context").strip()], input=line, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode == 0, found, line)

    def test_headers_of_the_servers_compile(self):
        for name in ("389", "openldap"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "typed-caches.h")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(generated("header", os.path.join(PATCHES, f"{name}.table")))
                subprocess.run(["gcc", "-Wall", "-Werror", "-fsyntax-only", f"-I{SOURCE}/include",
                                f"-I{PATCHES}", "-include", path, "-x", "c", "/dev/null"], check=True)


class Interruption(unittest.TestCase):
    """Of a conversion, by an spatch that fails."""

    def test_half_converted_source_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            server, program = os.path.join(folder, "server"), os.path.join(folder, "spatch")
            os.mkdir(server)
            shutil.copy(os.path.join(HERE, "patterns.c"), server)
            for status, error in ((1, ""), (0, f"convert: {server} is half converted")):
                with open(program, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\nexit {status}\n")
                os.chmod(program, 0o755)
                done = subprocess.run([os.path.join(PATCHES, "convert"), TABLE, server, os.path.join(folder, "output")],
                                      env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"), text=True,
                                      capture_output=True, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stderr[:len(error)], error)


@unittest.skipUnless(shutil.which("spatch"), "spatch is not installed (package coccinelle)")
class Conversion(unittest.TestCase):
    """The small server, converted, compiled and run."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.server = os.path.join(self.folder.name, "server")
        self.output = os.path.join(self.folder.name, "output")
        os.mkdir(self.server)
        for name in ("patterns.c", "patterns.h"):
            shutil.copy(os.path.join(HERE, name), self.server)
        subprocess.run([os.path.join(PATCHES, "convert"), TABLE, self.server, self.output], check=True)

    def test_converted_server_allocates_from_caches_and_leaks_nothing(self):
        program = os.path.join(self.folder.name, "program")
        subprocess.run(["gcc", "-Werror", "-w", f"-I{SOURCE}/include", f"-I{self.output}", "-include",
                        os.path.join(self.output, "typed-caches.h"), os.path.join(self.server, "patterns.c"),
                        os.path.join(HERE, "rest.c"), f"-L{LIBRARY}", "-lslab", f"-Wl,-rpath,{LIBRARY}",
                        "-o", program], check=True)
        done = subprocess.run([program], env=dict(os.environ, SLAB_LEAK_CHECK="exit"), text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(os.path.join(self.server, "patterns.c"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("item_mutex", text)
        self.assertNotIn("item_fill", text)
        self.assertNotIn("outer_alloc(size_t", text)
        self.assertIn("calloc(10, sizeof(Plain))", text)


if __name__ == "__main__":
    unittest.main()
