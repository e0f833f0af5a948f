# SPDX-License-Identifier: MIT
"""What ./run bench servers --typed makes of figures."""
import collections
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, path) for path in ("../benchmarks/servers", "../../benchmarks/support")]
import report  # noqa: E402
import samples  # noqa: E402
import typed  # noqa: E402

MIB = 1 << 20
TEMPLATE = """dn: cn=config
nsslapd-port: %ds_port%

dn: cn=ACL Plugin,cn=plugins,cn=config
nsslapd-pluginPath: libacl-plugin

dn: cn=USN,cn=plugins,cn=config
nsslapd-pluginPath: libusn-plugin
"""
Named = collections.namedtuple("Named", "name")
Run = collections.namedtuple("Run", "server contestant found")


def made(**contestants):
    """Figures of one round; a contestant's metrics by its name, with _ for the space."""
    runs = [Run(Named("slapd"), Named(name.replace("_", " ")), figures)
            for name, figures in contestants.items()]
    return report.Found(runs, [run.contestant.name for run in runs], typed.MODE)


def judged(found, metric):
    """(value, whose, met) of a goal."""
    return next((line[5], line[4], line[6]) for line in report.judged(found) if line[1].metric == metric)


class Goals(unittest.TestCase):
    """Typed caches over libslab_malloc against the servers without them."""

    def test_the_best_stock_allocator_is_the_rival(self):
        found = made(typed_slab={"cpu": 9.0}, stock_glibc={"cpu": 20.0}, stock_tcmalloc={"cpu": 12.0})
        self.assertEqual(judged(found, "cpu"), (0.75, "stock tcmalloc", True))

    def test_typed_caches_on_other_allocators_are_no_rivals(self):
        found = made(typed_slab={"cpu": 10e-6}, typed_glibc={"cpu": 1e-6}, stock_glibc={"cpu": 10e-6})
        self.assertEqual(judged(found, "cpu"), (1.0, "stock glibc", False))

    def test_the_share_is_held_against_jemalloc(self):
        found = made(typed_slab={"share": 0.03}, stock_jemalloc={"share": 0.06},
                     stock_glibc={"share": 0.01})
        self.assertEqual(judged(found, "share"), (0.5, "stock jemalloc", True))

    def test_caches_cost_what_the_server_has_more_at_the_start(self):
        found = made(typed_slab={}, typed_glibc={"start": 12 * MIB}, stock_glibc={"start": 10 * MIB})
        self.assertEqual(judged(found, "start"), (2 * MIB, "stock glibc", False))

    def test_goals_without_figures_are_left_out(self):
        self.assertEqual(report.judged(made(typed_slab={"cpu": 1e-6})), [])


class Compiled(unittest.TestCase):
    """Servers that ./run server compiles."""

    def test_a_server_that_is_not_compiled_says_how_to_compile_it(self):
        for is_typed, options in ((True, "--build"), (False, "--preload --build")):
            server = typed.NsSlapdSource(is_typed, "/nonexistent", "/nonexistent", True, 1)
            self.assertEqual(server.missing(), f"it is not compiled; ./run server 389 {options}")

    def test_ns_slapd_has_its_configuration_from_its_prefix(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "servers", "389", "prefix")
            for path, text in (("share/dirsrv/data/template-dse.ldif", TEMPLATE),
                               ("share/dirsrv/data/template-suffix-db.ldif", ""),
                               ("etc/dirsrv/schema/99user.ldif", ""),
                               ("etc/dirsrv/config/slapd-collations.conf", "")):
                os.makedirs(os.path.dirname(os.path.join(prefix, path)), exist_ok=True)
                with open(os.path.join(prefix, path), "w", encoding="utf-8") as file:
                    file.write(text)
            server = typed.NsSlapdSource(True, folder, os.path.join(folder, "work"), True, 1)
            server.place(os.path.join(folder, "run"), 4711)
            with open(os.path.join(folder, "run", "dse.ldif"), encoding="utf-8") as file:
                text = file.read()
            self.assertIn("nsslapd-port: 4711\n", text)
            self.assertIn("libacl-plugin", text)
            self.assertNotIn("libusn-plugin", text)


class Shown(unittest.TestCase):
    """Table and chart."""

    def setUp(self):
        figures = {"time": 1e-4, "cpu": 5e-5, "end": 20 * MIB, "start": 5 * MIB}
        self.found = made(stock_glibc=figures, typed_glibc=figures, typed_slab=figures)

    def test_the_table_has_a_goal_in_mib(self):
        text = report.markdown(self.found, ["a machine"], 1)
        self.assertIn("| slapd | start, MiB (typed glibc) | 5.0 | stock glibc | 5.0 | +0.0 | ≤ +1.0 | met |", text)

    def test_the_chart_has_a_bar_for_each_contestant_and_figure(self):
        drawn = typed.MODE.svg(self.found, "a machine")
        for name in self.found.contestants:
            self.assertEqual(drawn.count(f"<title>{name}: "), 3)  # op/s, CPU, end


class Samples(unittest.TestCase):
    """Whose CPU time is the allocator's."""

    def test_libraries_and_lists_of_free_objects_count(self):
        for library, function, counts in (
                ("/usr/lib/libjemalloc.so.2", "[unknown]", True), ("/build/libslab.so.0.1.0", "slab_free", True),
                ("/build/libslab-389ds.so", "free", True), ("/usr/lib/libc.so.6", "_int_malloc", True),
                ("/usr/lib/libc.so.6", "memcpy", False), ("/build/slapd", "slap_op_alloc", True),
                ("/build/slapd", "do_search", False)):
            self.assertEqual(samples.is_allocation(library, function), counts, (library, function))


if __name__ == "__main__":
    unittest.main()
