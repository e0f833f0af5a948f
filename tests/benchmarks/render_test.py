# SPDX-License-Identifier: MIT
"""docs/performance.md has the figures of the results that the project keeps, and nothing else of
the page is rendered."""
import os
import re
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, "benchmarks", part) for part in ("suite", "objects", "support")]
import render  # noqa: E402


class Page(unittest.TestCase):
    def test_has_the_figures_of_the_newest_results(self):
        self.assertEqual(render.difference(ROOT), "", "./run bench --render writes the page anew")

    def test_has_all_blocks(self):
        names = [found.group(2) for found in render.BLOCK.finditer(render.read_page(ROOT))]
        self.assertEqual(sorted(names), sorted(render.BLOCKS))

    def test_text_written_by_hand_stays(self):
        page = "a\n<!-- rendered: objects.trace -->\nold\n<!-- end -->\nb\n"
        text = render.rendered(page, render.kept_results(ROOT))
        self.assertTrue(text.startswith("a\n<!-- rendered: objects.trace -->\nThe recorded"), text)
        self.assertTrue(text.endswith("\n<!-- end -->\nb\n"), text)
        self.assertNotIn("old", text)

    def test_an_unknown_block_is_refused(self):
        page = "<!-- rendered: nosuch -->\n<!-- end -->\n"
        with self.assertRaisesRegex(render.Refused, "has a block 'nosuch'; there are: objects"):
            render.rendered(page, render.kept_results(ROOT))

    def test_a_block_that_a_run_has_not_measured_stays(self):
        page = "<!-- rendered: objects.trace -->\nold\n<!-- end -->\n"
        self.assertEqual(render.rendered(page, lambda benchmark: None), page)


class Run(unittest.TestCase):
    """A run's folder, and a project that takes its figures over."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.run = os.path.join(self.root, "build", "bench", "2026-01-02")
        os.makedirs(self.run)
        self.results = render.results_folder(self.root, "objects")
        os.makedirs(os.path.join(self.root, "docs"))
        shutil.copy(os.path.join(ROOT, render.PAGE), os.path.join(self.root, "docs"))
        for benchmark in ("slides", *render.TABLES):
            shutil.copytree(render.results_folder(ROOT, benchmark),
                            render.results_folder(self.root, benchmark))
        with open(render.newest(ROOT, "objects").path, encoding="utf-8") as file:
            self.figures = file.read()
        self.write("objects.csv", self.figures)
        self.write("objects.md", "# Objects\n\n- a CPU; 2026-01-02, load 0.1\n")

    def write(self, name, text):
        with open(os.path.join(self.run, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, *path):
        with open(os.path.join(self.root, *path), encoding="utf-8") as file:
            return file.read()

    def test_its_figures_are_copied_and_rendered(self):
        self.write("objects.csv", self.figures + "1,slab,pair,16,1,4.0,4.0,1,1,0\n")
        render.adopt(self.root, self.run)
        render.render(self.root)
        self.assertEqual(self.read(self.results, "2026-01-02.csv"), self.figures)
        page = self.read("docs", "performance.md")
        self.assertIn("Measured on a CPU; 2026-01-02, load 0.1: 3 rounds", page)
        self.assertIn("results/2026-01-02.csv", page)
        self.assertEqual(render.difference(self.root), "")

    def test_a_changed_figure_changes_the_page(self):
        self.write("objects.csv", re.sub(r"(,slab,pair,64,1),[\d.]+,", r"\1,44.4,", self.figures))
        render.adopt(self.root, self.run)
        self.assertIn("+| `pair` | 44.4 · ", render.difference(self.root))

    def test_tables_of_some_cases_replace_those_of_older_runs(self):
        self.write("memory.md", "# Memory\n\n- a CPU; 2099-01-02, load 0.1\n\n## Goals\n\n| case | |\n|---|---|\n"
                   "| churn | new | met |\n\n## All cases\n")
        render.adopt(self.root, self.run)
        render.render(self.root)
        page = self.read("docs", "performance.md")
        self.assertIn("| churn | new | met |", page)
        self.assertEqual(page.count("| churn |"), 1)
        self.assertIn("| peak.64 | slab |", page)
        self.assertEqual(render.difference(self.root), "")

    def test_without_all_rows_it_is_refused(self):
        self.write("objects.csv", re.sub(r"(?m)^.*,trace,.*\n", "", self.figures))
        with self.assertRaisesRegex(render.Refused, "no figure to compare for slab in trace"):
            render.adopt(self.root, self.run)

    def test_without_results_it_is_refused(self):
        os.remove(os.path.join(self.run, "objects.md"))
        with self.assertRaisesRegex(render.Refused, "there is no .*objects.md"):
            render.adopt(self.root, self.run)
        os.remove(os.path.join(self.run, "objects.csv"))
        with self.assertRaisesRegex(render.Refused, "has none of objects.csv"):
            render.adopt(self.root, self.run)

    def test_the_page_in_its_folder_has_links_to_the_project(self):
        render.page_beside(self.root, self.run)
        page = self.read("build", "bench", "2026-01-02", "performance.md")
        self.assertIn("](../../../docs/design.md)", page)
        self.assertIn("Measured on a CPU; 2026-01-02", page)
        self.assertIn("](objects.csv)", page)


if __name__ == "__main__":
    unittest.main()
