# SPDX-License-Identifier: MIT
"""./run bench --compare on results that are made up: verdicts, statistics, errors, exit status.

Exits 77 without scipy.
"""
import contextlib
import io
import json
import os
import random
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, "benchmarks", part) for part in ("suite", "support", "objects")]
try:
    import compare
except ImportError as missing:
    print(missing)
    sys.exit(77)
import interleave  # noqa: E402
import main  # noqa: E402
import report  # noqa: E402
import samples  # noqa: E402

ROUNDS = 9
# What takes the programs' place in a build: NS nanoseconds for each pair.
PROGRAM = """#!/bin/sh
[ "$1" != --list ] || { echo pair; exit; }
echo "# libslab libc.so"
echo "pair,64,1,%s,4,10,10,0"
"""


def around(value, seed, rounds=ROUNDS):
    """Samples that differ by up to 2 %, always the same ones."""
    source = random.Random(f"{value} {seed}")
    return [value * source.uniform(0.98, 1.02) for _ in range(rounds)]


class Folders(unittest.TestCase):
    """Two folders of results, A and B."""

    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name
        for name in ("A", "B"):
            os.makedirs(self.path(name))

    def path(self, *words):
        return os.path.join(self.work, *words)

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def objects(self, name, rows):
        """rows: {(contestant, case): samples}"""
        lines = [report.CSV_HEADER]
        for (contestant, case), values in rows.items():
            lines += [f"{i + 1},{contestant},{case},64,1,{value:.3f},1,1,1,{value * 1000:.0f}"
                      for i, value in enumerate(values)]
        self.write(f"{name}/objects.csv", "\n".join(lines) + "\n")

    def compared(self, threshold=0.05):
        return compare.Comparison(samples.read(self.path("A")), samples.read(self.path("B")),
                                  threshold)

    def run_main(self, *arguments):
        """(exit status, what was printed)"""
        out, error = io.StringIO(), io.StringIO()
        old, sys.argv = sys.argv, ["main.py", *arguments]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
                status = main.main()
        except SystemExit as ended:
            status = ended.code
        finally:
            sys.argv = old
        return status, out.getvalue() + error.getvalue()

    def compare_folders(self, *options):
        return self.run_main("--compare", self.path("A"), self.path("B"), *options)


class Verdicts(Folders):
    def setUp(self):
        super().setUp()
        self.objects("A", {("slab", "slow"): around(10, "a"), ("slab", "fast"): around(10, "b"),
                           ("slab", "same"): around(10, "c"),
                           ("slab", "memory.more"): around(10, "d"),
                           ("glibc", "slow"): around(10, "e")})
        self.objects("B", {("slab", "slow"): around(12, "f"), ("slab", "fast"): around(8, "g"),
                           ("slab", "same"): around(10, "same"),
                           ("slab", "memory.more"): around(13, "i"),
                           ("glibc", "slow"): around(10, "j")})

    def test_each_row_has_one(self):
        found = {row.name: row.verdict for row in self.compared().rows}
        self.assertEqual(found, {"objects slab slow 64": "slower", "objects slab fast 64": "faster",
                                 "objects slab same 64": compare.SAME,
                                 "objects slab memory.more 64": "more"})

    def test_ratio_interval_and_effect_fit_the_samples(self):
        row = next(row for row in self.compared().rows if row.name == "objects slab slow 64")
        self.assertAlmostEqual(row.ratio, 1.2, delta=0.03)
        self.assertLess(1.15, row.low)
        self.assertLessEqual(row.low, row.ratio)
        self.assertLessEqual(row.ratio, row.high)
        self.assertEqual(row.delta, 1)
        self.assertLess(row.p, 0.001)

    def test_other_allocators_are_the_control(self):
        comparison = self.compared()
        self.assertEqual([row.name for row in comparison.control], ["objects glibc slow 64"])
        self.assertIn("Control: 0 of 1 rows", compare.text(comparison, False))

    def test_a_regression_is_named_and_a_failure(self):
        status, text = self.compare_folders()
        self.assertEqual(status, 1, text)
        self.assertIn("Worse by more than 5 %: objects slab memory.more 64, objects slab slow 64.",
                      text)
        self.assertNotIn("objects slab same", text)

    def test_all_shows_rows_without_a_difference(self):
        self.assertIn("objects slab same 64", self.compare_folders("--all")[1])

    def test_what_is_slower_by_less_than_the_threshold_is_no_failure(self):
        status, text = self.compare_folders("--threshold", "50")
        self.assertEqual(status, 0, text)
        self.assertIn("slower", text)
        self.assertIn("Worse by more than 50 %: no row.", text)

    def test_the_same_run_twice_is_no_difference(self):
        status, text = self.run_main("--compare", self.path("A"), self.path("A"))
        self.assertEqual(status, 0, text)
        self.assertIn(f"4 rows: 4 {compare.SAME}.", text)

    def test_a_control_that_differs_is_said(self):
        self.objects("B", {("slab", "slow"): around(12, "k"), ("glibc", "slow"): around(12, "l")})
        text = self.compare_folders()[1]
        self.assertIn("Control: 1 of 1 rows", text)
        self.assertIn("The machine was not the same in both runs", text)


class Statistics(Folders):
    def test_many_rows_without_a_difference_show_none(self):
        for name in ("A", "B"):
            self.objects(name, {("slab", f"case{i}"): around(10, name) for i in range(2)} | {
                ("slab", f"noise{i}"): around(10 + i, f"{name}{i}") for i in range(60)})
        self.assertEqual([row for row in self.compared().rows if row.verdict != compare.SAME], [])

    def test_p_values_are_corrected_for_the_number_of_rows(self):
        self.assertEqual([round(p, 6) for p in compare.corrected([0.01, 0.04, 0.03, 0.5])],
                         [0.04, 0.053333, 0.053333, 0.5])

    def test_too_few_samples_are_no_verdict(self):
        self.objects("A", {("slab", "pair"): around(10, "a", 3)})
        self.objects("B", {("slab", "pair"): around(20, "b", 3)})
        status, text = self.compare_folders("--all")
        self.assertEqual(status, 0, text)
        self.assertIn("too few samples", text)
        self.assertIn("at least 4, ", text)

    def test_a_run_with_few_rounds_says_so(self):
        self.assertEqual(samples.ENOUGH, compare.rounds_needed(1))
        self.objects("A", {("slab", "pair"): around(10, "a", 3)})
        self.assertIn("1 of 1 rows have fewer than 4 rounds", samples.hint(self.path("A")))
        self.objects("A", {("slab", "pair"): around(10, "a", 4)})
        self.assertIsNone(samples.hint(self.path("A")))
        self.assertIsNone(samples.hint(self.path("B")))

    def test_figures_of_a_round_are_one_sample(self):
        self.write("A/memory.csv", "round,contestant,case,what,seconds,value\n"
                   "1,slab,churn,resident,0.1,10\n1,slab,churn,resident,0.2,30\n"
                   "1,slab,churn,resident,0.3,20\n2,slab,churn,resident,0.1,40\n")
        self.assertEqual(samples.read(self.path("A"))["memory slab churn resident"].values, [20, 40])

    def test_a_higher_rate_is_faster(self):
        for name, rate in (("A", 1000), ("B", 800)):
            self.write(f"{name}/listener.csv", "round,server,case,what,value\n" + "".join(
                f"{i + 1},handoff,busy,rate,{value}\n"
                for i, value in enumerate(around(rate, name))))
        comparison = self.compared()
        self.assertEqual(comparison.rows[0].verdict, "slower")
        self.assertEqual(comparison.regressions(), comparison.rows)

    def test_rings_of_distant_cpus_are_left_out(self):
        near, far = around(10, "a", 4), [90.0]
        self.objects("A", {("slab", "ring.1"): near + far,
                           ("slab", "ring.line"): [50.0] * 4 + [400.0]})
        found = samples.read(self.path("A"))["objects slab ring.1 64"].values
        self.assertEqual(found, [round(value, 3) for value in near])

    def test_the_shortest_laps_are_samples_when_wanted(self):
        self.write("A/objects.csv", report.CSV_HEADER + "\n1,slab,pair,64,1,9.5,4.5,20,10,0\n")
        self.assertEqual(samples.read(self.path("A"))["objects slab pair 64"].values, [9.5])
        self.assertEqual(samples.read(self.path("A"), True)["objects slab pair 64"].values, [4.5])

    def test_rows_of_the_slides_are_samples(self):
        self.write("A/slides.csv", "round,contestant,row,bytes,median,minimum\n"
                   "1,slab,pair,256,30,20\n1,SLAB,trapped.4,0,900,800\n")
        found = samples.read(self.path("A"))
        self.assertEqual(found["slides slab pair 256"], samples.Row([30], "time", False))
        self.assertEqual(found["slides SLAB trapped.4 0"], samples.Row([900], "amount", True))
        self.assertEqual(samples.read(self.path("A"), True)["slides slab pair 256"].values, [20])

    def test_google_benchmarks_repetitions_are_samples(self):
        runs = [{"name": "pair/slab/64", "run_name": "pair/slab/64", "run_type": "iteration",
                 "repetition_index": i, "real_time": 50.0, "cpu_time": 5.0 + i} for i in range(3)]
        runs.append(dict(runs[0], run_type="aggregate"))
        self.write("A/micro.json", json.dumps({"benchmarks": runs}))
        self.assertEqual(samples.read(self.path("A"))["micro pair/slab/64"].values, [5, 6, 7])


    def test_processes_of_the_pblock_benchmark_are_samples(self):
        run = {"weighted": [{"cost": "life", "pblock": "v3", "ns": 50}],
               "blocks": [{"order": "all", "size": 240, "allocator": "calloc", "ms_median": 9}]}
        self.write("A/pblock.json", json.dumps({"glibc": [run, run]}))
        found = samples.read(self.path("A"))
        self.assertEqual(found["pblock glibc life v3"], samples.Row([50, 50], "time", False))
        self.assertEqual(found["pblock glibc all 240 calloc"], samples.Row([9, 9], "time", True))

    def test_two_files_may_have_any_names(self):
        text = "round,server,case,what,value\n" + "".join(
            f"{i},handoff,busy,rate,{100 + i}\n" for i in range(5))
        self.write("A/before.csv", text)
        self.write("B/after.csv", text)
        status, printed = self.run_main("--compare", self.path("A", "before.csv"),
                                        self.path("B", "after.csv"), "--all")
        self.assertEqual(status, 0, printed)
        self.assertIn("| handoff busy rate |", printed)


class Errors(Folders):
    def refused(self, text, *arguments):
        status, printed = self.run_main(*arguments)
        self.assertEqual(status, 2, printed)
        self.assertEqual(len(printed.splitlines()), 1, printed)
        self.assertIn(text, printed)

    def test_a_missing_folder(self):
        self.refused("there is no 'nosuch'", "--compare", "nosuch", self.path("A"))

    def test_an_empty_folder(self):
        self.refused("has no results", "--compare", self.path("A"), self.path("B"))

    def test_no_row_in_common(self):
        self.objects("A", {("slab", "pair"): around(10, "a")})
        self.objects("B", {("slab", "bulk"): around(10, "b")})
        self.refused("no row of libslab in common", "--compare", self.path("A"), self.path("B"))

    def test_a_file_of_something_else(self):
        self.write("A/objects.csv", "name,value\nx,1\n")
        self.refused("no columns 'round' and 'value'", "--compare", self.path("A"), self.path("A"))

    def test_a_truncated_line(self):
        self.write("A/malloc.csv", "round,contestant,case,metric,value\n1,slab,larson\n")
        self.refused("no row of figures", "--compare", self.path("A"), self.path("A"))

    def test_a_threshold_that_is_no_number(self):
        self.objects("A", {("slab", "pair"): around(10, "a")})
        self.refused("--threshold wants a number from 0 to 1000, not 'x'", "--compare",
                     self.path("A"), self.path("A"), "--threshold", "x")

    def test_options_of_builds_with_folders_of_results(self):
        self.refused("are for two builds", "--compare", self.path("A"), self.path("B"),
                     "--rounds", "3")

    def test_options_of_compare_without_it(self):
        self.refused("belong to --compare", "--list", "--all")


class Builds(Folders):
    """Two builds are measured in turns."""

    def setUp(self):
        super().setUp()
        self.root, main.ROOT = main.ROOT, self.work
        self.addCleanup(setattr, main, "ROOT", self.root)
        for name in ("A", "B"):
            self.write(f"{name}/bin/objects-malloc", PROGRAM % "5", 0o755)
            self.write(f"{name}/bin/objects-slab", PROGRAM % ("5" if name == "A" else "7"), 0o755)

    def test_they_are_compared(self):
        status, text = self.compare_folders("--rounds", "4", "--cases", "pair", "--sizes", "64")
        self.assertEqual(status, 1, text)
        self.assertIn("Worse by more than 5 %: objects slab pair 64.", text)
        self.assertIn("Control: 0 of 1 rows", text)

    def test_their_samples_are_kept(self):
        self.compare_folders("--rounds", "4", "--cases", "pair")
        folder = os.path.join("build", "bench")
        name = os.listdir(self.path(folder))[0]
        found = samples.read(self.path(folder, name, "B"))
        self.assertEqual(found["objects slab pair 64"].values, [7, 7, 7, 7])

    def test_a_program_that_fails_is_named(self):
        self.write("B/bin/objects-slab", "#!/bin/sh\necho no memory >&2; exit 1\n", 0o755)
        status, text = self.compare_folders("--cases", "pair")
        self.assertEqual(status, 1)
        self.assertIn("slab cannot run: no memory", text)

    def test_is_build_looks_for_the_program(self):
        self.assertTrue(interleave.is_build(self.path("A")))
        self.assertFalse(interleave.is_build(self.work))


if __name__ == "__main__":
    unittest.main()
