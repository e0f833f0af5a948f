# SPDX-License-Identifier: MIT
"""The runner of the documents' commands finds what is wrong in a document."""
import tempfile
import unittest
from pathlib import Path

import commands
import documents

PAGE = """text `$ not a command`

    $ first --option      # a comment
    its output

```console
$ second \\
      continued
one 12 0x7f00
…
last
$ third
```
```c
/* a.c: a listing */
int a;
```
"""


class Documents(unittest.TestCase):
    def test_commands_of_both_kinds_of_blocks(self):
        self.assertEqual([command.text for command in documents.commands(PAGE)],
                         ["first --option", "second continued", "third"])

    def test_only_a_console_block_is_compared(self):
        self.assertEqual([command.output for command in documents.commands(PAGE)],
                         [None, ["one 12 0x7f00", "…", "last"], []])

    def test_a_listing_has_the_name_that_its_first_line_says(self):
        self.assertEqual(documents.listings(PAGE), {"a.c": "/* a.c: a listing */\nint a;\n"})


class Transcripts(unittest.TestCase):
    def test_numbers_and_spaces_differ(self):
        self.assertTrue(commands.same_output(["a  12 3.5KiB 0x7f"], ["a 7 120MiB 0x1234"]))

    def test_words_do_not(self):
        self.assertFalse(commands.same_output(["a 12 found"], ["a 12 lost"]))

    def test_a_missing_line_and_a_further_one_are_seen(self):
        self.assertFalse(commands.same_output(["a", "b"], ["a"]))
        self.assertFalse(commands.same_output(["a"], ["a", "b"]))

    def test_an_ellipsis_stands_for_lines_and_for_the_rest_of_one(self):
        self.assertTrue(commands.same_output(["a", "…", "z"], ["a", "b", "c", "z"]))
        self.assertTrue(commands.same_output(["a; …"], ["a; and more"]))
        self.assertFalse(commands.same_output(["a", "…", "z"], ["a", "b", "c"]))


class Run(unittest.TestCase):
    """Documents in a source folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = Path(folder.name)
        (self.source / "tests/docs").mkdir(parents=True)
        (self.source / "docs").mkdir()
        self.page("")
        self.excluded("")
        (self.source / "CONTRIBUTING.md").write_text("")
        (self.source / "tools/run").mkdir(parents=True)
        (self.source / "tools/run/build.sh").write_text("cmd\ncmd_build()\n")

    def page(self, text):
        (self.source / "README.md").write_text(text)

    def excluded(self, text):
        (self.source / "tests/docs/not_run.txt").write_text(text)

    def run_page(self, text):
        self.page(text)
        return commands.run_document(self.source, self.source / "build", "README.md")

    def test_what_works_passes(self):
        self.assertFalse(self.run_page("```console\n$ echo 12 found\n34 found\n```\n"))

    def test_a_status_and_a_transcript_that_are_wrong_fail(self):
        self.assertTrue(self.run_page("    $ false\n"))
        self.assertTrue(self.run_page("```console\n$ echo lost\nfound\n```\n"))

    def test_a_stale_entry_of_the_list_fails(self):
        self.page("    $ true\n")
        self.assertFalse(commands.check_list(self.source, ["README.md"]))
        self.excluded("README.md\tfalse\ta reason\n")
        self.assertTrue(commands.check_list(self.source, ["README.md"]))

    def test_a_command_that_nothing_runs_fails(self):
        self.page("    $ true\n")
        self.assertTrue(commands.check_list(self.source, []))
        self.excluded("README.md\ttrue\ta reason\n")
        self.assertFalse(commands.check_list(self.source, []))

    def test_a_command_that_run_does_not_have_fails(self):
        self.page("```\n./run biuld\n```\n")
        self.excluded("README.md\t./run biuld\ta reason\n")
        self.assertTrue(commands.check_list(self.source, []))


if __name__ == "__main__":
    unittest.main()
