# SPDX-License-Identifier: MIT
"""benchmarks/run.py: options, rounds, tables, ratios, goals and comparisons, with a benchmark of shell scripts."""
import csv
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
DESCRIPTION = '''
import os
import runner
from runner import Contestant, Goal
QUESTION = "{name}'s question"
SECONDS = (1, 60)
ROUNDS = (2, 4)
SIZES = ((64,), (64, 240))
OPTIONS = {{"factor": (1, 1, "multiplies")}}
METRICS = {{"ns": "ns", "rate": "op/s", "idle": "MiB"}}
CASES = {{"pair": "a title", "burst": ""}}
RIVALS = ("glibc", "jemalloc")
HEADS = {{"time": ("ns", "rate")}}
GOALS = [Goal("pair", "ns", 0.5), Goal("burst", "rate", 1.0), Goal("pair", "ns", 3.0, None, (240,))]

def contestants(build):
    return [Contestant(name, os.path.join(build, "bin", name)) for name in ("slab", "glibc", "jemalloc", "gone")]

def measure(contestant, cases, run):
    if cases[0] == "burst":
        yield "burst", 0, "rate", {{"slab": 100, "glibc": 50, "jemalloc": 80}}[contestant.name]
        yield runner.IDLE
        yield "burst", 0, "idle", 1 << 20
        return
    for size in run.sizes:
        yield from runner.program_figures(contestant, [size, run.options["factor"], run.turn])
'''
PROGRAM = "#!/bin/sh\n{before}\necho '# a remark'\necho pair,$1,ns,$(({ns} * $2 + $3 % 2))\necho pair,$1,ns_min,{ns}\n"
SPEED = {"slab": 2, "glibc": 8, "jemalloc": 4}


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(self.path("benchmarks"))
        for name in ("run.py", "support"):
            os.symlink(os.path.join(ROOT, "benchmarks", name), self.path("benchmarks", name))
        write(self.path("benchmarks/fake/description.py"), DESCRIPTION.format(name="fake"))
        for name, ns in SPEED.items():
            self.program(name, ns)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def program(self, name, ns, before="", build="build"):
        write(self.path(build, "bin", name), PROGRAM.format(ns=ns, before=before), 0o755)

    def run_it(self, *arguments, status=0):
        ran = subprocess.run([sys.executable, self.path("benchmarks/run.py"), *arguments], text=True,
                             capture_output=True, check=False, cwd=self.root)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def text(self, name):
        with open(self.path("build/bench", name), encoding="utf-8") as file:
            return file.read()

    def rows(self):
        return list(csv.DictReader(self.text("fake.csv").splitlines()))


class Options(Case):
    def test_list_has_question_cases_and_times(self):
        said = self.run_it("--list")
        self.assertIn("fake          1 s    60 s  fake's question", said)
        self.assertIn("cases: pair burst", said)

    def test_unknown_names_are_refused(self):
        for arguments, text in ((["never"], "there is no benchmark 'never'; there are: fake"),
                                (["fake", "--cases", "x"], "matches none of: pair burst"),
                                (["fake", "--cases", "("], "is no regular expression"),
                                (["fake", "--contestants", "me"], "there is no contestant 'me'"),
                                (["fake", "--sizes", "1"], "wants a number from 8 to 32768"),
                                (["fake", "--rounds", "many"], "wants a number from 1 to 1000"),
                                (["fake", "--shortest"], "belong to --compare"),
                                (["fake", "--never"], "unrecognized arguments")):
            self.assertIn(text, self.run_it(*arguments, status=2))

    def test_cases_sizes_contestants_and_rounds_choose(self):
        self.run_it("fake", "--cases", "pair", "--sizes", "512", "--contestants", "glibc,slab", "--rounds", "3")
        self.assertEqual({(row["contestant"], row["case"], row["size"]) for row in self.rows()},
                         {("slab", "pair", "512"), ("glibc", "pair", "512")})
        self.assertEqual({row["round"] for row in self.rows()}, {"1", "2", "3"})

    def test_quick_does_less(self):
        self.run_it("fake", "--quick")
        self.assertEqual({row["size"] for row in self.rows() if row["case"] == "pair"}, {"64"})
        self.assertEqual({row["round"] for row in self.rows()}, {"1", "2"})

    def test_options_of_the_description(self):
        self.run_it("fake", "--factor", "10", "--rounds", "1", "--cases", "pair")
        self.assertIn("20", [row["value"] for row in self.rows()])


class Results(Case):
    def test_rounds_interleave_contestants(self):
        self.run_it("fake", "--cases", "pair", "--rounds", "2", "--sizes", "64")
        turns = [[row["contestant"] for row in self.rows() if row["round"] == turn and row["metric"] == "ns"]
                 for turn in "12"]
        self.assertCountEqual(*turns)
        self.assertNotEqual(*turns)

    def test_the_terminal_shows_ratios_to_the_best_rival(self):
        said = self.run_it("fake", "--rounds", "1", "--contestants", "slab,glibc,jemalloc")
        self.assertIn("ns 64: 2.0 · 0.50 jemalloc   240: 2.0 · 0.50 jemalloc", said)
        self.assertIn("4 of 4 goals met", said)

    def test_each_rival_alone_has_rows_won_level_and_lost(self):
        self.program("jemalloc", 2)
        said = self.run_it("fake", "--rounds", "1", "--contestants", "slab,glibc,jemalloc")
        self.assertIn("| glibc | time | 3 | 0 | 0 | 0.31 |", said)
        self.assertIn("| jemalloc | time | 1 | 2 | 0 | 0.93 |", said)

    def test_a_rate_is_better_when_it_is_larger(self):
        self.assertIn("rate, op/s 100 · 0.80 jemalloc", self.run_it("fake", "--cases", "burst"))

    def test_missed_goals_are_marked(self):
        self.program("slab", 7)
        said = self.run_it("fake", "--rounds", "1", "--cases", "pair")
        self.assertIn("64: 7.0 · 1.75 jemalloc MISSED", said)
        self.assertIn("0 of 3 goals met", said)
        self.assertIn("| pair | 240 | ns | slab | 7.0 |  | 3.0 | 2.33 | ≤ 1.00 | **missed** |", self.text("fake.md"))

    def test_the_table_has_medians_and_best_laps(self):
        self.run_it("fake", "--rounds", "2", "--cases", "pair", "--contestants", "slab,glibc,jemalloc")
        self.assertIn("### pair: a title\n\n| size | | slab | glibc | jemalloc | best rival | slab / best |",
                      self.text("fake.md"))
        self.assertIn("| 64 | ns | 2.5 (2.0) | 8.5 (8.0) | 4.5 (4.0) | jemalloc | 0.56 (0.50) |", self.text("fake.md"))

    def test_a_contestant_that_is_missing_is_left_out(self):
        self.run_it("fake", "--rounds", "1")
        self.assertIn("- gone is left out: gone is not built", self.text("fake.md"))

    def test_a_failure_does_not_stop_the_others(self):
        self.program("slab", 2, "echo no memory >&2; exit 3")
        said = self.run_it("fake", "--rounds", "1", status=1)
        self.assertIn("slab failed in pair: no memory", said)
        self.assertIn("glibc", {row["contestant"] for row in self.rows() if row["case"] == "pair"})
        self.assertIn("- slab failed in pair: no memory", self.text("fake.md"))

    def test_a_run_of_all_writes_to_a_folder_and_goes_on_after_a_failure(self):
        write(self.path("benchmarks/bad/description.py"),
              DESCRIPTION.format(name="bad").replace("os.path.join(build", "os.path.join('/never'"))
        said = self.run_it("--quick", status=1)
        self.assertIn("[1/2] bad; about 2 s left", said)
        self.assertIn("bad failed: no contestant can run", said)
        folder = said.split("results: ")[1].split()[0]
        self.assertIn("fake.csv", os.listdir(self.path(folder)))


class Comparison(Case):
    def results(self, name, values, contestant="slab", metric="ns"):
        rows = [f"{turn},{contestant},pair,64,{metric},{value}" for turn, value in enumerate(values)]
        write(self.path(name, f"{contestant}.csv"), "\n".join(["round,contestant,case,size,metric,value", *rows]) + "\n")

    def compare(self, a, b, *options, status=0, **more):
        self.results("A", a, **more)
        self.results("B", b, **more)
        return self.run_it("--compare", self.path("A"), self.path("B"), *options, status=status)

    def test_worse_beyond_the_threshold_fails(self):
        said = self.compare([10, 11, 10.5, 10.2, 10.1], [13, 14, 13.5, 13.2, 13.1], status=1)
        self.assertIn("1 rows: 1 worse.", said)
        self.assertIn("Worse by more than 5 %: slab slab pair 64 ns.", said)

    def test_worse_within_the_threshold_is_no_failure(self):
        said = self.compare([10, 11, 10.5, 10.2, 10.1], [13, 14, 13.5, 13.2, 13.1], "--threshold", "90")
        self.assertIn("Worse by more than 90 %: no row.", said)

    def test_the_same_figures_are_no_difference(self):
        same = [10, 11, 10.5, 10.2, 10.1]
        self.assertIn("1 rows: 1 no difference shown.", self.compare(same, same[::-1]))

    def test_three_rounds_are_too_few(self):
        said = self.compare([1, 1.1, 1.2], [2, 2.1, 2.2])
        self.assertIn("1 too few samples", said)

    def test_a_lower_rate_is_worse(self):
        self.compare([10, 11, 12, 13, 14], [4, 5, 6, 7, 8], status=1, metric="rate")

    def test_more_than_the_same_of_other_allocators_is_no_verdict_on_libslab(self):
        self.results("A", [1, 1.1, 1.2, 1.3, 1.4], "glibc")
        self.results("B", [2, 2.1, 2.2, 2.3, 2.4], "glibc")
        said = self.compare([1, 1.1, 1.2, 1.3, 1.4], [1.01, 1.1, 1.2, 1.3, 1.4])
        self.assertIn("Control: 1 of 1 rows of other allocators differ", said)
        self.assertIn("The machine was not the same", said)

    def test_shortest_takes_the_best_laps(self):
        for name, values in (("A", [5, 5.1, 5.2, 5.3]), ("B", [9, 9.1, 9.2, 9.3])):
            self.results(name, [5] * 4)
            rows = [f"{turn},slab,pair,64,ns_min,{value}" for turn, value in enumerate(values)]
            with open(self.path(name, "slab.csv"), "a", encoding="utf-8") as file:
                file.write("\n".join(rows) + "\n")
        arguments = ["--compare", self.path("A"), self.path("B")]
        self.run_it(*arguments)
        self.run_it(*arguments, "--shortest", status=1)

    def test_figures_that_the_table_does_not_show_are_not_compared(self):
        for name in "AB":
            rows = [f"{turn},slab,pair,64,{metric},{turn}" for turn in range(5) for metric in ("ns", "cycles")]
            write(self.path(name, "fake.csv"), "\n".join(["round,contestant,case,size,metric,value", *rows]) + "\n")
        self.assertIn("1 rows:", self.run_it("--compare", self.path("A"), self.path("B")))

    def test_what_is_no_result_is_refused(self):
        write(self.path("A/x.csv"), "a,b\n1,2\n")
        for a, text in (("never", "'never' has no results"), (self.path("A"), "has other columns than")):
            self.assertIn(text, self.run_it("--compare", a, a, status=2))

    def test_two_builds_are_measured_in_turns(self):
        write(self.path("benchmarks/objects/description.py"), DESCRIPTION.format(name="objects"))
        for build, ns in (("old", 2), ("new", 9)):
            self.program("slab", ns, build=build)
            self.program("glibc", 5, build=build)
            self.program("objects-slab", ns, build=build)
        said = self.run_it("--compare", "old", "new", "--rounds", "6", "--cases", "pair", "--sizes", "64", status=1)
        self.assertIn("Worse by more than 5 %: objects slab pair 64 ns.", said)
        self.assertIn("Control: 0 of 1 rows", said)


if __name__ == "__main__":
    try:
        import scipy  # noqa: F401
    except ImportError:
        sys.exit(77)
    unittest.main()
