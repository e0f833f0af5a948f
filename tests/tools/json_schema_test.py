# SPDX-License-Identifier: MIT
"""What slabinfo and the control socket say in JSON is what docs/schema/slabinfo.schema.json describes; and the schema refuses
what is not.

usage: json_schema_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import unittest

from processes import SANITIZED, Case, Server


class Accepted(Case):
    def documents(self, *runs):
        return "".join(self.slabinfo("--json", *words.split()) for words in runs)

    def test_caches(self):
        Server(self)
        self.valid(self.documents("", "^empty$", "first", "-T", "-X -N 2"))

    def test_caches_that_are_in_use(self):
        Server(self, mode="load")
        self.valid(self.documents("", "--memory"))

    def test_debug_flags_legacy_slabs_and_sampling(self):
        server = Server(self)
        self.slabinfo("-da", "entry")
        server.do_task("l")
        for words in ("-dzpA entry", "-df pblock", "--sample=1 pblock"):
            self.slabinfo(*words.split())
        server.do_task("p")
        document = self.documents("")
        self.assertIn('"debug_flags": "ZPA"', document)
        self.valid(document)

    def test_several_nodes(self):
        self.set_environment(SLAB_FAKE_NODES="2")
        Server(self)
        self.valid(self.documents(""))

    def test_call_sites(self):
        server = Server(self)
        self.slabinfo("-du", "entry")
        self.slabinfo("--mark")
        server.do_task("l")
        document = self.documents("-t entry")
        self.assertIn("leak_entries", document)
        self.valid(document + self.documents("--since-mark", "--waste"))

    @unittest.skipIf(SANITIZED, "a process with sanitizers has terabytes of shadow")
    def test_leaks(self):
        server = Server(self)
        self.slabinfo("-du", "entry")
        server.do_task("k")
        server.do_task("k")
        document = self.slabinfo("--find-leaks", "--json", status=1)
        self.assertIn('"symbol": "keep_one+0x', document)
        self.valid(document)

    def test_processes(self):
        Server(self)
        Server(self)
        self.valid(self.documents("--list"))

    def test_what_is_read_of_a_process(self):
        self.valid(self.look(Server(self).pid, "stats", "slabs", "slabs entry", "slabs empty", "traces freed 0",
                             "objects", "objects entry", "regions", "waste", "validate", "slabs nobody"))


class Refused(Case):
    def setUp(self):
        super().setUp()
        Server(self)
        self.document = self.slabinfo("--json")

    def expect(self, changes):
        """The document with the first of these replaced is refused, because of that place."""
        for old, new, place in changes:
            self.assertIn(old, self.document)
            self.valid(self.document.replace(old, new, 1), 1, place)

    def test_refuses_what_is_of_another_type(self):
        self.expect((('"object_size": 712', '"object_size": "712"', "].object_size"),
                     ('"debug_flags": "-"', '"debug_flags": "X"', "$.caches[0].debug_flags"),
                     ('"arrays_closed": 0', '"arrays_closed": -1', "$.caches[0].events.arrays_closed"),
                     ('"ok": true', '"ok": 1', "$.ok")))

    def test_refuses_what_is_incomplete(self):
        self.expect((('"counted_us"', '"counted"', "$.caches[0]"), ('"engine"', '"motor"', "$.process"),
                     ('"caches"', '"cash"', "$")))

    def test_describes_every_member_and_allows_more(self):
        document = self.document.replace('"limit"', '"colour": "green", "limit"', 1)
        self.valid(document, 1)
        self.valid(document, how="open")


unittest.main()
