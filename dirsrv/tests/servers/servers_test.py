# SPDX-License-Identifier: MIT
"""./run server, without a server: configuration and messages.

usage: servers_test.py SOURCE_FOLDER [TEST...]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(sys.argv.pop(1), "dirsrv", "servers"))
# pylint: disable=wrong-import-position
import server as command
from ds389 import Ds389
from openldap import OpenLdap
from shares import live_bytes, named
from steps import Failure, Steps, debianize

TEMPLATE = """dn: cn=config
nsslapd-port: %ds_port%
nsslapd-rootpw: %ds_passwd%

dn: cn=ACL Plugin,cn=plugins,cn=config
nsslapd-pluginPath: libacl-plugin

dn: cn=USN,cn=plugins,cn=config
nsslapd-pluginPath: libusn-plugin
"""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Temporary(unittest.TestCase):
    """A folder for each test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.server = Ds389(Steps(self.folder))

    def path(self, *names):
        return os.path.join(self.folder, *names)


class Load(unittest.TestCase):
    """What ldapload prints at the end."""

    TABLE = "search        70000   31872.9\nall          100000   31872.9\n"

    def test_all_operations(self):
        self.assertTrue(command.is_complete(self.TABLE, 100000))

    def test_an_interrupted_load_is_not_complete(self):
        self.assertFalse(command.is_complete(self.TABLE.replace("100000", "98885"), 100000))


class Configuration(Temporary):
    """Of 389-ds, from a template like that of the server."""

    def setUp(self):
        super().setUp()
        data = self.path("prefix", "share", "dirsrv", "data")
        write(os.path.join(data, "template-dse.ldif"), TEMPLATE)
        write(os.path.join(data, "template-suffix-db.ldif"), "dn: cn=%ds_bename%,cn=config\n")
        write(self.path("prefix", "etc", "dirsrv", "schema", "99user.ldif"), "")
        write(self.path("prefix", "etc", "dirsrv", "config", "slapd-collations.conf"), "")
        write(self.path("prefix", "sbin", "ns-slapd"), "")
        self.server.place(self.path("run"), "word")

    def test_leaves_out_plug_ins_that_are_not_compiled(self):
        text = read(self.path("run", "dse.ldif"))
        self.assertIn("libacl-plugin", text)
        self.assertNotIn("libusn-plugin", text)
        self.assertIn("\n\ndn: cn=userroot,cn=config\n", text)

    def test_has_the_password_and_listens_on_the_loopback_interface(self):
        text = read(self.path("run", "dse.ldif"))
        self.assertIn("nsslapd-rootpw: {CLEAR}word\n", text)
        self.assertIn("nsslapd-listenhost: 127.0.0.1\n", text)

    def test_has_the_port_of_the_start(self):
        self.server.command(self.path("run"), 4711)
        self.assertIn("nsslapd-port: 4711\n", read(self.path("run", "dse.ldif")))


class Source(Temporary):
    """What is wrong with a source is said in one line."""

    def test_says_that_the_crates_are_missing(self):
        os.mkdir(self.path("source"))
        with self.assertRaisesRegex(Failure, "^the source has no debian/vendor.*apt-get source 389-ds-base"):
            self.server.crates()

    def debian(self, patch):
        """Debian's part of a source package, with one patch."""
        write(self.path("part", "debian", "patches", "series"), "one.patch\n")
        write(self.path("part", "debian", "patches", "one.patch"), patch)
        subprocess.run(["tar", "-caf", self.path("x.debian.tar.gz"), "-C", self.path("part"), "debian"], check=True)
        write(self.path("source", "text"), "old\n")
        debianize(self.folder, self.path("source"))

    @unittest.skipUnless(shutil.which("patch"), "patch is not installed")
    def test_gets_debians_patches(self):
        self.debian("--- a/text\n+++ b/text\n@@ -1 +1 @@\n-old\n+new\n")
        self.assertEqual(read(self.path("source", "text")), "new\n")

    @unittest.skipUnless(shutil.which("patch"), "patch is not installed")
    def test_says_which_patch_does_not_apply(self):
        with self.assertRaisesRegex(Failure, "^Debian's patch one.patch does not apply"):
            self.debian("--- a/text\n+++ b/text\n@@ -1 +1 @@\n-other\n+new\n")


class Types(Temporary):
    """What a source gets to pass its types on."""

    def setUp(self):
        super().setUp()
        self.server = OpenLdap(Steps(self.folder))
        write(self.path("source", "libraries", "liblber", "memory.c"), "\tp = ber_memalloc_x( len, ctx );\n")

    @unittest.skipUnless(shutil.which("clang-22"), "clang-22 is not installed")
    def test_are_an_attribute_a_wrapper_and_a_cast(self):
        for _ in range(2):  # the second time after an interruption
            command.pass_types(self.server)
        self.assertIn("void *ch_malloc(unsigned long size) __attribute__((alloc_size(1), noinline));\n",
                      read(self.path("typed", "tokens.h")))
        self.assertEqual(read(self.path("source", "libraries", "liblber", "memory.c")),
                         "\tp = (char *)ber_memalloc_x( len, ctx );\n")
        names = subprocess.run(["nm", self.path("typed", "tokens.a")], check=True, capture_output=True, text=True).stdout
        self.assertEqual(names.count(" T __alloc_token_"), len(self.server.allocators.splitlines()))


class Shares(unittest.TestCase):
    """Of live bytes that have a type."""

    ANSWER = {"process": {"large_bytes": 80}, "caches": [
        {"name": "conn-2k", "objects": 1, "object_size": 20, "large_bytes": 30},
        {"name": "token-D5D5177A51D2519E", "objects": 2, "object_size": 5},
        {"name": "size-96", "objects": 2, "object_size": 10}]}

    def test_count_classes_and_large_allocations(self):
        types = live_bytes(self.ANSWER)
        self.assertEqual((types["conn"], types["(no type)"], sum(types.values())), (50, 20, 130))
        self.assertAlmostEqual(named(types), 50 / 130)


class Reason(Temporary):
    """Why a step failed."""

    def test_is_the_error_and_not_what_make_did_after_it(self):
        with self.assertRaisesRegex(Failure, r"^sh failed: make: \*\*\* Error 1 \(all"):
            self.server.steps.run(["sh", "-c", "echo 'make: *** Error 1'; echo mv a b; exit 2"], "build.log")


class Environment(Temporary):
    """Of a server."""

    def test_has_the_variables_of_libslab(self):
        run = command.Run(self.server, None, self.folder)
        with unittest.mock.patch.dict(os.environ, SLAB_DEBUG="U", OTHER="x"):
            found = run.environment()
        self.assertEqual((found["SLAB_DEBUG"], found["SLAB_CONTROL"], "OTHER" in found), ("U", "on", False))


if __name__ == "__main__":
    unittest.main()
