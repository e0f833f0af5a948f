#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The model of large machines: its numbers for given inputs, and how it reads measurements."""

import math
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../benchmarks/scale"))
import check
import model
import operations
import queueing
import runs
import tables


class LibslabMemory(unittest.TestCase):
    """Slabs, queues and slots of libslab."""

    def test_slabs_are_as_large_as_design_md_says(self):
        self.assertEqual([model.slab_bytes(s) for s in (64, 240, 2112, 30000)],
                         [65536, 65536, 65536, 524288])
        self.assertEqual(model.slab_bytes(240, small=True), 16384)

    def test_a_lifo_begins_with_32_kib_of_objects(self):
        self.assertEqual([model.lifo_length(s) for s in (64, 240, 2112)], [502, 136, 16])
        self.assertEqual(model.lifo_length(2112, grown=True), 248)

    def test_a_small_peak_stays_with_its_cpus(self):
        use = model.Use(240, 1, 8, 546)
        self.assertEqual(model.owned_after_peak(model.Machine(8, 1), use), 2 * 65536)
        self.assertEqual(model.held_by_libslab(model.Machine(8, 1), use), 8 * 136 + 4 * 68)

    def test_a_large_peak_leaves_no_more_than_the_partial_list(self):
        for slabs in range(1, 200):
            self.assertLessEqual(model.listed_after(slabs, 16), 16)
        self.assertEqual([model.listed_after(n, 16) for n in (16, 17, 31, 32)], [16, 2, 16, 2])

    def test_memory_grows_with_the_cpus_that_use_a_cache_and_not_with_the_machine(self):
        use = model.Use(240, 10, 4, 100)
        small, large = model.Machine(64, 2), model.Machine(512, 2)
        self.assertEqual(model.trapped_libslab(small, use), model.trapped_libslab(large, use))

    def test_beyond_16_cpus_each_lists_fewer_slabs(self):
        self.assertEqual([model.partial_most(240, n) for n in (2, 16, 64, 128, 512)], [16, 16, 4, 2, 2])

    def test_slabs_queues_grow_with_the_machine(self):
        use = model.Use(240, 10, 4, 100)
        small, large = model.Machine(64, 2), model.Machine(512, 2)
        self.assertLess(model.trapped_slab(small, use).total(), model.trapped_slab(large, use).total())
        self.assertLess(model.trapped_sheaves(small, use).total(), model.trapped_sheaves(large, use).total())

    def test_slots_take_whole_pages(self):
        self.assertEqual(model.slots_of_libslab(model.Use(240, 1, 1, 1000)), 2 * 4096)
        self.assertEqual(model.slots_of_libslab(model.Use(64, 1, 1, 1000)), 3 * 4096)
        self.assertEqual(model.slots_of_libslab(model.Use(240, 30, 2, 1000)) % 8192, 0)


class OtherDesigns(unittest.TestCase):
    """SLAB, sheaves, caches of threads."""

    def test_queues_have_the_kernels_lengths(self):
        self.assertEqual([model.array_length(s) for s in (240, 257, 1025, 4097)], [120, 54, 24, 8])
        self.assertEqual([model.sheaf_length(s) for s in (240, 256, 1024, 4096)], [60, 28, 12, 4])

    def test_threads_multiply_their_caches(self):
        use = model.Use(240, 3, 8, 1000)
        for trapped in (model.trapped_jemalloc, model.trapped_mimalloc):
            one, four = (trapped(model.Machine(8, 1, t), use).total() for t in (1, 4))
            self.assertEqual(four, 4 * one)

    def test_nobody_holds_more_than_it_was_given(self):
        for trapped in (model.trapped_slab, model.trapped_sheaves):
            held = trapped(model.Machine(64, 4), model.Use(240, 1, 64, 1))
            self.assertEqual(held.cpu + held.node, 64 * 240)


class Costs(unittest.TestCase):
    """Exchanges and locks of an operation."""

    def test_local_operations_need_no_exchange(self):
        for cost in operations.COSTS.values():
            self.assertEqual(cost("local", operations.Load(240), model.Machine(64, 2)).exchanges, 0)

    def test_a_magazine_serves_half_a_lifo(self):
        cost = operations.libslab_cost("pairs", operations.Load(240), model.Machine(8, 1))
        self.assertAlmostEqual(cost.exchanges, 3 / 68)
        self.assertAlmostEqual(cost.node, 1 / 68)

    def test_a_batch_crosses_nodes_in_one_exchange(self):
        cost = operations.libslab_cost("pairs-remote", operations.Load(240), model.Machine(8, 2))
        self.assertAlmostEqual(cost.exchanges, (1 / 64 + 1 / 128) / 2)

    def test_lifos_become_longer_while_frees_miss_them(self):
        cost = operations.libslab_cost("elsewhere", operations.Load(712), model.Machine(8, 1))
        self.assertLess(cost.exchanges, 0.05)


class Locks(unittest.TestCase):
    """Queues at locks."""

    def test_a_lock_saturates_when_it_is_always_held(self):
        self.assertEqual(queueing.cpus_at_saturation(1e6, 0.5, 100), 20)
        self.assertEqual(queueing.cpus_at_saturation(1e6, 0, 100), math.inf)

    def test_the_wait_grows_without_bound(self):
        self.assertEqual(queueing.wait_ns(0.5, 100), 100)
        self.assertEqual(queueing.wait_ns(1, 100), math.inf)

    def test_each_lock_of_the_table_has_a_rate_and_a_hold(self):
        for lock in tables.locks(tables.read_inputs()):
            self.assertGreater(lock.rate * lock.acquisitions * lock.hold, 0)


class Measurements(unittest.TestCase):
    """What runs print."""

    TEXT = ("before\nslab_bytes 10\nalloc_slab 3\nafter\noperations 100\nslab_bytes 20\nalloc_slab 5\n"
            "lock 0x12 0x30 4 10.0\nlock 0x12 cache 6 20.0\nlock 0x12 cache 2 20.0\nstepped 50\nlocked 7\n"
            "instructions 99\nat /lib/libslab.so.0 0x13 7\n")
    TABLE = [(0x10, "node_lock"), (0x30, "pages_lock")]

    def test_counts_are_those_between_two_reports(self):
        values = runs.parse(self.TEXT, self.TABLE)
        self.assertEqual((values["alloc_slab"], values["slab_bytes"]), (2, 20))

    def test_locks_have_their_names_and_add_up(self):
        values = runs.parse(self.TEXT, self.TABLE)
        self.assertEqual(values["lock:pages_lock:node_lock"], 4)
        self.assertEqual(values["lock:cache:node_lock"], 8)
        self.assertEqual(check.node_locks(values), 0.08)

    def test_files_of_measurements_are_read_as_they_were_written(self):
        one = runs.case("libslab", "pairs", 240, 8, 2, distance=1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.csv")
            runs.write(path, [(one, {"locked": 3.0})])
            self.assertEqual(runs.read(path), [(one, {"locked": 3.0})])

    def test_the_stored_measurements_cover_all_runs(self):
        path = os.path.join(HERE, "../../benchmarks/scale/measured.csv")
        stored = [case for case, _ in runs.read(path)]
        wanted = [*runs.memory_cases(), *runs.operation_cases()]
        self.assertEqual([case for case in wanted if case not in stored], [])


if __name__ == "__main__":
    unittest.main()
