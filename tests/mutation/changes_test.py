# SPDX-License-Identifier: MIT
"""What ./run mutate changes, and what it leaves alone. usage: changes_test.py ROOT"""
import itertools
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
import changes
import mutate

ROOT = Path(sys.argv.pop())
FUNCTION = """/* a < b, 1 + 1: a comment */
static const int table[] = {1, 2};

static int find(int a, int n)
{
%s
}
"""


def of(line, following=""):
    """All changes of one line in a function, as kind: texts."""
    found = {}
    for change in changes.changes_of("file.c", FUNCTION % f"\t{line}\n\t{following}"):
        if change.line == 6:
            found.setdefault(change.kind, []).append(change.after.strip())
    return found


class ChangesTest(unittest.TestCase):
    def test_operators_are_swapped(self):
        self.assertEqual(of("return a < n && a & n;")["operator"],
                         ["return a <= n && a & n;", "return a < n || a & n;",
                          "return a < n && a | n;"])

    def test_numbers_and_truth_values_are_changed(self):
        self.assertEqual(of("return a[3u] ? true : b;")["constant"],
                         ["return a[3u] ? false : b;", "return a[4u] ? true : b;"])

    def test_conditions_are_negated(self):
        self.assertEqual(of("while (next(a)) {"), {"negated condition": ["while (!(next(a))) {"]})

    def test_guards_are_removed(self):
        self.assertEqual(of("if (a)", "\treturn n;")["removed guard"], ["if (0 && (a))"])
        self.assertNotIn("removed guard", of("if (a)", "\tcount(n);"))

    def test_statements_are_removed_but_no_declarations_and_jumps(self):
        self.assertEqual(of("add(a, n);"), {"removed statement": [";"]})
        self.assertNotIn("removed statement", of("int b = a;"))
        self.assertNotIn("removed statement", of("return a;"))

    def test_one_is_left_out(self):
        self.assertEqual(of("use(a - 1);")["off by one"], ["use(a);"])

    def test_comments_strings_reports_and_assertions_stay(self):
        for line in ['puts("1 < 2");', "go(a); /* 1 < 2 */", "assert(a < 1);", "report_line(1);",
                     "note_slab(2);", "#define ONE 1"]:
            kinds = of(line)
            kinds.pop("removed statement", None)
            self.assertEqual(kinds, {}, line)

    def test_only_functions_are_changed(self):
        lines = {change.line for change in changes.changes_of("file.c", FUNCTION % "\ta = n;")}
        self.assertEqual(lines, {6})

    def test_the_seed_says_what_is_drawn(self):
        first, again, other = (list(itertools.islice(changes.drawn(ROOT, random.Random(seed)), 20))
                               for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_every_room_has_changes(self):
        rooms = {os.path.dirname(line[0].path) for line in changes.by_line(ROOT)}
        self.assertEqual(rooms, set(changes.ROOMS))

    def test_equivalent_changes_are_of_the_code_as_it_is(self):
        sources = {path for path, _, _ in mutate.equivalents()}
        found = {(change.path, *mutate.sides_of(change)) for path in sources
                 for change in changes.changes_of(path, (ROOT / path).read_text())}
        self.assertEqual(set(mutate.equivalents()) - found, set())

    def test_the_table_is_written_with_each_change(self):
        change = changes.Change("slab/a.c", 7, "operator", "\ta || b;", "\ta && b;")
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch("mutate.RESULT", Path(folder) / "table.md") as result:
            mutate.Table().add(change, "SURVIVED")
            self.assertEqual(result.read_text().splitlines()[2:], [
                r"| slab/a.c:7 | operator | `a \|\| b;` -> `a && b;` | SURVIVED |"])

    def test_bad_arguments_are_refused_with_one_line(self):
        for words in (["x"], ["0"], ["3", "y"], ["1", "2", "z"], ["1", "2", "3", "4"]):
            run = subprocess.run([sys.executable, Path(__file__).parent / "mutate.py", *words],
                                 capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 2, words)
            self.assertRegex(run.stderr, r"^run: mutate takes [^\n]+\n$")


if __name__ == "__main__":
    unittest.main()
