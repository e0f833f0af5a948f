# SPDX-License-Identifier: MIT
"""slab-symbolize: its answers and its complaints, on addresses of symbolized.c. Names of C++, as slabinfo has them.

usage: symbolize_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import re
import subprocess
import unittest
from pathlib import Path

from processes import BUILD, FilesCase, write

TOOL, PROGRAM = BUILD / "bin/slab-symbolize", BUILD / "bin/symbolized"


class Call:
    """A return address of the program, its offset in its function, and the lines that belong to it."""

    def __init__(self, line):
        self.word, offset, within, *lines = line.split()
        self.offset, self.within = int(offset, 16), int(within, 16)
        self.inner, self.middle, self.line = lines

    def request(self, path=PROGRAM):
        """As a report has it."""
        return f"({path}+{self.offset:#x})"

    def text(self, function):
        return f"{function}+{self.within:#x} (symbolized.c:{self.line})"


class Case(FilesCase):
    def setUp(self):
        super().setUp()
        lines = subprocess.run([PROGRAM], text=True, check=True, stdout=subprocess.PIPE).stdout.splitlines()
        self.calls = [Call(line) for line in lines]
        self.known, self.inlined, self.long = self.calls[:3]
        self.request, self.full = self.known.request(), self.known.text("known_function")

    def run_tool(self, log, *words):
        ran = subprocess.run([TOOL, *words], input=log, text=True, capture_output=True, check=False)
        return ran.stdout, ran.stderr, ran.returncode

    def symbolized(self, log, expected):
        self.assertEqual(self.run_tool(log), (expected, "", 0))

    def symbolize(self, *log):
        return self.run_tool("".join(log))[0]

    def shell(self, command):
        subprocess.run(command, shell=True, check=True)


class Log(Case):
    def test_addresses_are_replaced(self):
        known, full = self.request, self.full
        self.symbolized(f"Allocated in {known} age=1 ms\n\tname+0x1 {known}\n\n{known}{known}(/nothing+0x10) a text",
                        f"Allocated in {full} age=1 ms\n\t{full}\n\n{full}{full}(/nothing+0x10) a text")

    def test_alone_on_its_line_an_address_is_a_line_for_each_inlined_function(self):
        call = self.inlined
        chain = [f"inner_code (symbolized.c:{call.inner})", f"middle_code (symbolized.c:{call.middle})",
                 call.text("outer_function")]
        self.symbolized(f"\touter_function+0x8 {call.request()}\nend\n", "\t" + "\n\t".join(chain) + "\nend\n")
        self.symbolized(f"Detected in {call.request()} cpu=0\n", f"Detected in {chain[0]} cpu=0\n")

    def stack(self, word):
        """The functions and lines, without offsets, of innermost, its caller and the one outside."""
        calls = [call for call in self.calls if call.word == word]
        return calls[0].line, lambda *which: re.sub(r"\+0x[0-9a-f]+|symbolized\.c:", "", self.symbolize(
            *(f"\t{calls[i].request()}\n" for i in which)))

    def test_a_function_that_was_left_by_a_jump_is_a_frame(self):
        line, stack = self.stack("jumps_on")
        self.assertIn(f"\n\tjumps_on ({line})\n\touter (", stack(0, 1))
        line, stack = self.stack("jumps_to_libslab")
        self.assertTrue(stack(1).startswith(f"\tjumps_to_libslab ({line})\n\touter ("), stack(1))
        self.assertEqual(self.stack("calls_first")[1](0, 1, 2).count("\n"), 3)  # it could have been

    def test_other_text_is_copied(self):
        for other in ("nonsense\n", "\n", "(/bin/sh+0x)\n", "(/bin/sh+0x1 )\n", "(/bin/sh+12)\n",
                      "(/bin/sh+0x11112222333344445)\n", "(/", "a zero\0and (/bin/sh+0x1)\n", f"{PROGRAM}+0x10\n"):
            self.symbolized(f"{self.request}\n{other}", f"{self.full}\n{other}")
        self.symbolized(f"(/ {self.request}\n", f"(/ {self.full}\n")

    def test_what_is_no_program_stays_as_it_is(self):
        write("text", "no program")
        text = f"({self.folder}/text+0x4)\n({self.folder}+0x4)\n({PROGRAM}+0x0)\n({PROGRAM}+0xffffffffffffffff)\n"
        self.symbolized(text, text)

    def test_without_debug_information_the_symbol_table_is_enough(self):
        self.shell(f"strip -g -o copy {PROGRAM}")
        self.symbolized(self.known.request(self.folder + "/copy") + "\n", self.full.partition(" ")[0] + "\n")

    def test_separate_debug_information_is_found(self):
        text = self.known.request(self.folder + "/copy") + "\n"
        self.shell(f"objcopy --only-keep-debug {PROGRAM} apart.debug; strip -s -o copy {PROGRAM}")
        self.symbolized(text, text)
        self.shell("objcopy --add-gnu-debuglink=apart.debug copy")
        self.symbolized(text, self.full + "\n")

    def test_names_are_cut_in_favour_of_the_place(self):
        end = self.long.text("")
        name = "a_function_whose_name_alone_has_more_bytes_than_slab_symbolize_prints_of_a_frame_which_are_one_hundred"
        text = self.symbolize(self.long.request(), "\n")
        self.assertEqual((len(text), text), (128, name[:127 - 3 - len(end)] + "..." + end + "\n"))

    def test_wrong_options_help_and_a_full_disk(self):
        error = '"--addresses" is not an option; the log is read from stdin, and --help explains how'
        self.assertEqual(self.run_tool("", "--addresses"), ("", f"slab-symbolize: {error}\n", 2))
        said, _, status = self.run_tool("", "--help")
        self.assertTrue(said.startswith("usage: slab-symbolize [--background | FILE...] < LOG\n") and not status, said)
        write("in", self.request)
        ran = subprocess.run(f"{TOOL} <in >/dev/full", shell=True, text=True, check=False, stderr=subprocess.PIPE)
        self.assertEqual((ran.returncode, ran.stderr), (1, "slab-symbolize: the answer could not be written\n"))


class Names(Case):
    def test_are_short_and_readable(self):
        names = {
            # Names of C.
            "entry_new": "entry_new", "entry_new.part.0": "entry_new.part.0", "_Z": "_Z",
            # Without arguments and results: int first<int>(int), decltype ({parm#1}+(0)) sum<int>(int).
            "_Z3addii": "add", "_ZNK5entry4findEPKc": "entry::find",
            "_ZNSt6vectorIiSaIiEE9push_backERKi": "std::vector::push_back",
            "_Z5firstIiET_S0_": "first", "_Z3sumIiEDTplfp_Li0EET_": "sum",
            # Without anonymous namespaces.
            "_ZN12_GLOBAL__N_15probeEv": "probe", "_ZN4test12_GLOBAL__N_15probeEv": "test::probe",
            # Operators.
            "_ZN4lessclERKiS1_": "less::operator()", "_ZNK4lessltERKS_": "less::operator<",
            "_ZlsRSoRK5entry": "operator<<",
            "_ZN4listixEm": "list::operator[]", "_ZN3ptrptEv": "ptr::operator->", "_Znwm": "operator new",
            "_ZNK5entrycvbEv": "entry::operator bool", "_ZN5entry9operatorsEv": "entry::operators",
            "_ZZN5entry4findEPKcENKUliE_clEi": "entry::find::{lambda#1}::operator()"}
        write("names.s", ".text\n" + "".join(f'.type "{name}",%function\n"{name}":\n.skip 16\n.size "{name}",16\n'
                                             for name in names))
        self.shell("gcc -shared -nostdlib -o names.so names.s")
        table = subprocess.run(["nm", "names.so"], text=True, check=True, stdout=subprocess.PIPE).stdout
        found = {line.split()[2]: line.split()[0] for line in table.splitlines()}
        for name, shown in names.items():
            self.symbolized(f"({Path.cwd()}/names.so+0x{int(found[name], 16) + 4:x})\n", shown + "+0x4\n")


unittest.main()
