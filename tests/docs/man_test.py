# SPDX-License-Identifier: MIT
"""The manual: every function, option, variable, attribute and event has its place there, nothing
else has, and the pages are well-formed. Programs of the guides compile.

usage: man_test.py SOURCE-FOLDER BUILD-FOLDER COMPILER
"""
import ctypes
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path


def source(path):
    return (SOURCE / path).read_text(encoding="utf-8")


def page(name):
    return source(f"docs/man/man{name[-1]}/{name}")


def function_page(function):
    return (PAGES / f"man3/{function}.3").read_text(encoding="utf-8")


def pages():
    """The pages themselves, without links from one name to another."""
    written = [path for folder in ("docs/man/man1", "docs/man/man7", "dirsrv/docs/man/man1")
               for path in (SOURCE / folder).iterdir()]
    made = [path for folder in ("man3", "man7") for path in (PAGES / folder).iterdir() if not path.is_symlink()]
    return sorted(made + written)


def items(text, macro):
    """What stands in ".It Cm a , b" and ".It Ev C Ns = …"."""
    found = set()
    for line in re.findall(rf"^\.It {macro} (.+)", text, re.MULTILINE):
        words = line.split()
        for i in range(0, len(words), 2):
            found.add(words[i])
            if words[i + 1:i + 2] != [","]:
                break
    return found


def documented_options(name):
    return {"-" + option for option in items(page(name), "Fl")}


def section(text, title):
    return re.search(rf"^\.Sh {title}\n.*?(?=^\.Sh |\Z)", text, re.MULTILINE | re.DOTALL)[0]


def options_of(path):
    """{long option: its letter or ""} of a table for getopt_long()."""
    rows = re.findall(r"""\{"([\w-]+)", \w+_argument, [^}]*?(?:'(\w)')?\}""", source(path))
    return {"--" + name: letter and "-" + letter for name, letter in rows}


def spellings(options):
    return set(options) | set(options.values()) - {""}


def functions_of(version_script):
    return set(re.findall(r"^\s+([a-z]\w+);$", source(version_script), re.MULTILINE))


def names_by_number(function):
    """What the library's function returns for 0, 1, … until NULL."""
    function.restype, names = ctypes.c_char_p, []
    while function(len(names)):
        names.append(function(len(names)).decode())
    return set(names)


class Manual(unittest.TestCase):
    def setUp(self):
        self.library = ctypes.CDLL(BUILD / "lib/libslab.so")
        self.numbers = page("slab.7")
        self.of_libslab = functions_of("cmake/libslab.map")
        self.functions = self.of_libslab | functions_of("dirsrv/libslab_dirsrv.map")
        self.assertGreater(len(self.functions), 100)

    def test_a_page_of_each_function_shows_how_safe_it_is(self):
        for function in self.functions:
            text = function_page(function)
            self.assertTrue("fork-safe" in text and "async-signal-safe" in text, function)
            self.assertTrue("cancel-safe" in text or function not in self.of_libslab, function)

    def test_options_of_programs(self):
        for name, table in (("slabinfo.1", "tools/slabinfo/options.c"),
                            ("slab-exporter.1", "tools/exporter/settings.c")):
            options = spellings(options_of(table))
            self.assertGreaterEqual(len(options), 5)
            self.assertEqual(documented_options(name), options)

    def test_help_has_every_option_and_fits_a_screen(self):
        text = subprocess.run([BUILD / "bin/slabinfo", "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
        helped = set(re.findall(r"(?<![\w\]-])(?:--[\w-]*\w|-\w)(?![\w-])", text))
        self.assertLessEqual(helped, documented_options("slabinfo.1"))
        self.assertLessEqual(set(options_of("tools/slabinfo/options.c").values()) - {""}, helped)
        self.assertIn("slabinfo(1)", text)
        self.assertLessEqual(len(text.splitlines()), 24)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_environment_variables(self):
        """A test of the library compares the table with the library (tests/base)."""
        table = re.findall(r"^\| `(SLAB_\w+)` \|", source("docs/environment.md"), re.MULTILINE)
        self.assertGreater(len(table), 15)
        self.assertEqual(items((PAGES / "man7/slab_environment.7").read_text(encoding="utf-8"), "Ev"), set(table))

    def test_attributes_and_events(self):
        attributes = items(section(self.numbers, "ATTRIBUTES"), "Cm")
        events = items(section(self.numbers, "EVENTS"), "Cm")
        members = re.search(r"^struct slab_stats \{\n(.*?)^\};", source("include/slab/stats.h"),
                            re.MULTILINE | re.DOTALL)[1]
        numbers = set(re.findall(r"^\t(?:size_t|uint\w+|unsigned) (\w+)(?:\[\w+\])?;", members, re.MULTILINE))
        self.assertGreater(len(numbers), 20)
        self.assertLessEqual(numbers - {"struct_size", "event"}, attributes)
        self.assertEqual(events, names_by_number(self.library.slab_event_name))
        self.assertLessEqual(names_by_number(self.library.slab_stat_name), attributes | events)

    def test_references_lead_to_pages(self):
        for path in pages():
            for name, number in re.findall(r"^\.Xr (slab\S*) (\d)", path.read_text(encoding="utf-8"), re.MULTILINE):
                self.assertTrue((PAGES / f"man{number}/{name}.{number}").exists(), f"{path}: {name}({number})")

    def test_programs_of_the_guides_compile(self):
        programs = [program for path in ("README.md", "docs/memory.md")
                    for program in re.findall(r"^```c\n(.*?)^```", source(path), re.MULTILINE | re.DOTALL)
                    if "#include <slab/" in program]
        self.assertGreaterEqual(len(programs), 5)
        for program in programs:
            subprocess.run([COMPILER, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-std=c11", "-I",
                            SOURCE / "include", "-x", "c", "-"], input=program, text=True, check=True)

    def formatter_says(self, name, *options):
        if not shutil.which(name):
            self.skipTest(name + " is not installed")
        ran = subprocess.run([name, *options, *pages()], capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout if ran.returncode else "")

    def test_mandoc_has_nothing_to_warn_of(self):
        self.formatter_says("mandoc", "-T", "lint", "-W", "warning")

    def test_groff_has_nothing_to_warn_of(self):
        """As man(1) of Debian calls it, for a terminal of 80 columns."""
        self.formatter_says("groff", "-k", "-mandoc", "-Tutf8", "-wmac", "-rLL=78n")


COMPILER = sys.argv.pop()
BUILD, SOURCE = Path(sys.argv.pop()), Path(sys.argv.pop())
PAGES = BUILD / "share/man"
unittest.main()
