# SPDX-License-Identifier: MIT
"""slabinfo --profile, --pprof and --flame, on a process of which it is known what it allocates (profiled_server.c). A decoder
of its own reads pprof's format.

usage: heap_profile_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import collections
import gzip
import math
import os
import re
import signal
import unittest
import xml.dom.minidom
from pathlib import Path

from processes import BUILD, FilesCase, Program, Server, read

MALLOC = BUILD / "lib/libslab_malloc.so"
PERIOD = 64 * 1024
TYPES = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]
Values = collections.namedtuple("Values", "alloc_objects alloc_space inuse_objects inuse_space")


# --- a decoder of protocol buffers ---

def varints(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def fields(message):
    """Each as its number and its value: a number, or the bytes of a text or of a message."""
    at = 0

    def number():
        nonlocal at
        start = at
        while message[at] >= 128:
            at += 1
        at += 1
        return next(varints(message[start:at]))

    while at < len(message):
        key, value = number(), number()
        if key & 7 == 2:
            assert value <= len(message) - at, "a field ends behind its message"
            value, at = message[at:at + value], at + value
        else:
            assert key & 7 == 0, f"wire type {key & 7}"
        yield key >> 3, value


class Profile:
    """What a profile says, by the functions of its stacks."""

    def __init__(self, path):
        parts = collections.defaultdict(list)
        for number, value in fields(gzip.decompress(Path(path).read_bytes())):
            parts[number].append(value)
        text = [value.decode() for value in parts[6]]
        members = {number: [collections.defaultdict(int, fields(value)) for value in parts[number]] for number in range(1, 6)}
        self.types = [f"{text[one[1]]}/{text[one[2]]}" for one in members[1]]
        self.mapped = [text[one[5]] for one in members[3]]
        self.build_ids = [text[one[6]] for one in members[3]]
        self.period, self.default_type = (parts[12] or [0])[0], text[parts[14][0]]
        ranges = {one[1]: range(one[2], one[3]) for one in members[3]}
        self.every_location_is_mapped = all(one[3] in ranges[one[2]] for one in members[4])
        names = {one[1]: text[one[2]] for one in members[5]}
        functions = {one[1]: {names[dict(fields(line))[1]] for number, line in fields(part) if number == 4}
                     for one, part in zip(members[4], parts[4])}
        self.samples, sums = len(parts[2]), collections.defaultdict(lambda: [0] * 4)
        for sample in parts[2]:
            stack, values = (list(varints(b"".join(value for number, value in fields(sample) if number == kind)))
                             for kind in (1, 2))
            assert len(values) == 4
            for name in set().union(*(functions[location] for location in stack)):
                sums[name] = [total + value for total, value in zip(sums[name], values)]
        self.sums = sums

    def of(self, function):
        """The sums over the samples with this function in their stacks."""
        return Values(*self.sums[function])


class ProfileCase(FilesCase):
    def profiled(self, mode="on"):
        return Server(self, "profiled_server", mode)

    def pprof(self, *words):
        self.assertEqual(self.slabinfo("--pprof=heap.pb.gz", *words), "")
        return Profile("heap.pb.gz")

    def flame(self, *words):
        self.assertEqual(self.slabinfo("--flame=heap.svg", *words), "")
        xml.dom.minidom.parseString(read("heap.svg"))
        return read("heap.svg")

    def estimated(self, estimate, count, size):
        """It is one of `count` objects of this size, within what five standard deviations allow."""
        chance = -math.expm1(-size / PERIOD)
        self.assertAlmostEqual(estimate, count, delta=5 * math.sqrt(count * (1 - chance) / chance) + 1, msg=size)

    def known(self, profile):
        """Whatever way the process was read."""
        entries, texts, blocks, every = map(profile.of, ("keep_entries", "churn_text", "keep_blocks", "main"))
        for number, count, size in ((entries.alloc_objects, 40000, 712), (entries.inuse_objects, 40000, 712),
                                    (texts.alloc_objects, 2000000, 48), (blocks.alloc_objects, 200, 100000),
                                    (blocks.inuse_objects, 100, 100000)):
            self.estimated(number, count, size)
        self.assertAlmostEqual(entries.inuse_space / entries.inuse_objects, 712, delta=1)
        self.assertEqual((texts.inuse_objects, texts.inuse_space), (0, 0))
        self.assertAlmostEqual(blocks.alloc_space / blocks.alloc_objects, 100000, delta=500)
        self.assertEqual(every.inuse_space, entries.inuse_space + blocks.inuse_space)
        self.assertEqual(every.alloc_space, entries.alloc_space + texts.alloc_space + blocks.alloc_space)
        self.assertEqual((profile.types, profile.default_type), (TYPES, "inuse_space"))
        self.assertTrue(profile.every_location_is_mapped)


class Known(ProfileCase):
    def test_pprof_has_the_objects_and_bytes_of_each_function(self):
        self.profiled()
        profile = self.pprof()
        self.known(profile)
        self.assertEqual(profile.period, 65536)
        self.assertTrue(profile.build_ids)
        self.assertIn("profiled_server", profile.mapped[0])

    def test_inlined_functions_are_functions_of_their_own(self):
        self.profiled()
        profile, picture = self.pprof(), self.flame()
        for function in ("keep_entry", "fill_entries"):
            self.assertEqual(profile.of(function).inuse_space, profile.of("keep_entries").inuse_space)
            self.assertIn(f"<title>{function}: ", picture)
        self.assertEqual(profile.of("entry_alloc").inuse_space, 0)
        self.assertNotIn("…", picture)

    def test_the_same_is_read_from_memory(self):
        self.known(self.pprof("--memory", "-p", str(self.profiled().pid)))

    def test_a_stopped_process_is_read_from_memory(self):
        server = self.profiled()
        self.addCleanup(os.kill, server.pid, signal.SIGCONT)
        os.kill(server.pid, signal.SIGSTOP)
        self.slabinfo("--pprof=heap.pb.gz", "-p", str(server.pid))
        self.known(Profile("heap.pb.gz"))

    def test_flame_draws_the_bytes_in_use(self):
        """All that churn_text() allocates is freed."""
        self.profiled()
        picture = self.flame()
        for function in ("keep_entries", "keep_blocks", "main"):
            self.assertIn(f"<title>{function}: ", picture)
        self.assertNotIn("churn_text", picture)

    def test_the_peak_has_blocks_that_are_freed_since(self):
        self.profiled()
        profile = self.pprof("--profile=peak")
        for function in ("keep_blocks", "keep_entries"):
            values = profile.of(function)
            self.assertEqual(values.inuse_objects, values.alloc_objects)
        self.assertEqual(profile.of("churn_text").inuse_objects, 0)
        self.assertIn(") at its peak", self.flame("--profile=peak"))

    def row_of(self, table, function):
        """The line above the stack that begins with this function."""
        found = re.search(rf"(?m)^(.*)\n.*        {function} \(", table)
        self.assertTrue(found, table)
        return found[1]

    def test_the_peak_is_a_table_of_call_sites(self):
        """Each string is freed at once."""
        server = self.profiled()
        table = self.slabinfo("--profile=peak", "-B")
        peak, now, objects, size = map(int, self.row_of(table, "keep_blocks").split()[:4])
        self.assertTrue(table.startswith(f"Peak of process {server.pid} (profiled_server) "), table)
        self.assertIn("s ago: ", table)
        self.assertEqual(size, 100000)
        self.assertAlmostEqual(peak, objects * size, delta=100000)
        self.assertLess(now, peak)
        self.assertNotIn("churn_text", table)

    def test_lifetimes_of_objects_that_are_freed_at_once_are_short(self):
        self.profiled()
        table = self.slabinfo("--profile=lifetimes")
        self.assertIn("Same CPU  Lifetimes from\n", table)
        self.assertRegex(self.row_of(table, "churn_text"), "%  [12]us ")
        self.assertNotIn("keep_entries", table)

    def test_the_variable_switches_it_on(self):
        os.environ["SLAB_PROFILE"] = "64k"
        self.addCleanup(os.environ.pop, "SLAB_PROFILE")
        self.profiled("plain")
        self.known(self.pprof())

    def test_a_file_that_cannot_be_written_is_named(self):
        self.profiled()
        for option, file in (("pprof", "heap.pb.gz"), ("flame", "heap.svg")):
            self.refused([f"--{option}=no/{file}"], f"no/{file} cannot be written: No such file or directory")


class Switched(ProfileCase):
    @unittest.skipUnless(MALLOC.exists(), "libslab_malloc is not built")
    def test_a_program_that_knows_nothing_of_libslab_has_a_profile(self):
        program = Program(self, "env", f"LD_PRELOAD={MALLOC}", "SLAB_PROFILE=1", "/bin/bash", "-c", "echo ready; read line")
        self.assertEqual(program.line(), "ready")
        profile = self.pprof("-p", str(program.pid))
        self.assertGreater(profile.samples, 10)
        self.assertTrue(profile.every_location_is_mapped)
        self.assertIn("bash", profile.mapped[0])

    def test_a_process_is_switched_on_and_off(self):
        server = Server(self)
        name = f"Heap profile of process {server.pid} (control_server)"
        self.assertEqual(self.slabinfo("--profile=1"), f"{name}: off -> a sample every 1 bytes\n")
        server.do_task("l")
        self.assertEqual(self.slabinfo("--profile=0"), f"{name}: a sample every 1 bytes -> off\n")
        server.do_task("k")
        profile = self.pprof()
        self.assertEqual(profile.of("leak_entries")[2:], (100, 71200))
        self.assertEqual(profile.of("keep_one").alloc_objects, 0)
        server.do_task("f")
        entries = self.pprof().of("leak_entries")
        self.assertEqual((entries.inuse_objects, entries.alloc_objects), (0, 100))

    def test_without_a_profile_it_says_how_to_get_one(self):
        server = Server(self)
        name = f"process {server.pid} (control_server)"
        for file in ("--pprof=heap.pb.gz", "--flame=heap.svg"):
            self.refused([file], f"the heap profile of {name} is off; to switch it on: "
                                 f"slabinfo -p {server.pid} --profile=512k", 1)
        self.slabinfo("--profile=512k")
        self.refused(["--pprof=heap.pb.gz"],
                     f"{name} has allocated nothing that was sampled since its heap profile was switched on", 1)
        self.assertFalse(Path("heap.pb.gz").exists())

    def test_bad_values_are_refused(self):
        server = Server(self)
        for value in ("many", "-1", ""):
            self.refused([f"--profile={value}"], f'"{value}" is not a number of bytes; --profile takes one, also in K, M or G, '
                                                 '0 for off, "peak" or "lifetimes"')
        for value in ("512kb", "1 2"):
            self.refused([f"--profile={value}"],
                         f'process {server.pid} (control_server): "{value}" is not a number of bytes between samples; '
                         "accepted: 0 for off, or a number, also in K, M, G, KiB, MiB or GiB")


unittest.main()
