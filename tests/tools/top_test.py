# SPDX-License-Identifier: MIT
"""slabinfo --top as its users see it: in a terminal, which is tmux, and piped. What is compared byte by byte comes from a
process whose answers are known; some tests run it on real ones.

usage: top_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import json
import os
import signal
import subprocess
import time
import unittest

import processes
from processes import SLABINFO, Impostor, Program, Server

PATIENCE_S, POLL_S = 30, 0.03


class Terminal:
    """A tmux server that runs a shell command; when it has ended the screen says "status N"."""
    opened = 0

    def __init__(self, test, command, columns=80, rows=24):
        self.test = test
        # A server that is still ending is no server for the next terminal.
        Terminal.opened += 1
        self.socket = f"{test.folder}/tmux{Terminal.opened}"
        self.tmux("new-session", "-d", "-x", columns, "-y", rows, f"exec 2>&1; {command}; echo status $?; exec sleep 60")
        test.addCleanup(self.tmux, "kill-server")

    def tmux(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
        ran = subprocess.run(["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *map(str, words)], text=True,
                             capture_output=True, check=False, env={**environment, "LC_ALL": "C.UTF-8"})
        self.test.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def press(self, *keys):
        """Keys as tmux calls them: "Enter", "C-c", "q"."""
        self.tmux("send-keys", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def expect(self, text, shown=True):
        """The screen when it shows the text, or does not any more: as it is a moment later, so that it is not seen while it
        is drawn."""
        end, seen = time.monotonic() + PATIENCE_S, False
        while time.monotonic() < end:
            now = self.screen()
            if (text in now) == shown and seen:
                return now
            seen = (text in now) == shown
            time.sleep(POLL_S)
        raise AssertionError(f'the screen {"never shows" if shown else "goes on showing"} "{text}":\n{now}')

    def line(self, start):
        """The first line that starts so, "" when there is none."""
        return next((line for line in self.screen().splitlines() if line.startswith(start)), "")


# --- answers ---

def cache(name, size, slabs, empty, partial, objects, errors=0, flags="-"):
    """Slabs of 16384 bytes. CPUs hold as many objects as the empty slabs have room for. alpha allocates 2000000 objects in a
    second, others none; all the time is counted but that before the first answer."""
    room = 16384 // size
    return {"name": name, "object_size": size, "slab_size": size, "order": 2, "objects_per_slab": room, "slabs": slabs,
            "slab_bytes": 16384 * slabs, "cpu_objects": room * empty, "partial": partial,
            "full": slabs - empty - partial, "empty": empty, "objects": objects, "total_objects": room * slabs,
            "errors": errors, "debug_flags": flags, "events": {"alloc_slowpath": 7, "free_slowpath": 5}}


ALPHA, BETA = cache("alpha", 128, 10, 3, 2, 960), cache("beta", 1024, 40, 1, 30, 64)
ALL = [ALPHA, BETA, cache("gamma", 4096, 1, 0, 0, 4), cache("none", 64, 0, 0, 0, 0)]
BROKEN = cache("broken", 128, 10, 3, 2, 960, 12, "FZPU")
COLUMNS = ["cache", "address", "used", "room", "state", "node", "debug_flags"]
OF_ALL_STATES = [[1, 128, "partial", "-"], [0, 128, "empty", "-"], [127, 128, "partial", "-"], [64, 128, "partial", "-"],
                 [128, 128, "full", "-"], [90, 120, "debug", "ZP"], [2, 120, "legacy", "F"], [1, 1, "guarded", "-"]]


def said(ok=True, **members):
    return json.dumps({"slab": 2, "ok": ok, **members}) + "\n"


def stats(caches, asked):
    us = time.monotonic_ns() // 1000 if asked else 0
    counted = [{**one, "counted": 2 * us * (one is ALPHA), "counted_us": us} for one in caches]
    return said(process={"engine": "rseq", "uptime": 93600, "slab_bytes": 835584, "cached_bytes": 65536, "large_bytes": 0},
                caches=counted)


def slabs(rows, total, **members):
    return said(caches=[{"name": "alpha", "total": total}], columns=COLUMNS, **members,
                slabs=[[0, 65536 + i * 16384, used, room, state, 0, flags] for i, (used, room, state, flags) in enumerate(rows)])


def say_all(request, asked, caches=tuple(ALL)):
    if request == "stats":
        return stats(caches, asked)
    if request == "slabs alpha":
        return slabs(OF_ALL_STATES, 8)
    if request.startswith("count "):
        return said(counting=int(request[6:]))
    return said(False, error="there is no such request")


def say_little(request, _asked):
    """Counts nothing and has no "slabs", as an older library."""
    return stats([ALPHA, BETA], 0) if request == "stats" else said(False, error="there is no such request")


def say_trouble(request, asked):
    return stats([ALPHA, BROKEN], asked) if request == "stats" else said(False, error="no")


def say_slowly(request, asked):
    time.sleep(0.05)
    return say_all(request, asked)


def say_many_slabs(request, asked):
    if request == "slabs alpha":
        return slabs([[128, 128, "full", "-"]] * 8000, 9000, bytes=16384)
    return say_all(request, asked)


def names_on(screen):
    """The first words of the rows below the titles."""
    rows = screen.splitlines()[4:]
    end = next((i for i, row in enumerate(rows) if not row or row.startswith("q")), len(rows))
    return " ".join(row.split()[0] for row in rows[:end])


class Case(processes.Case):
    def on(self, process, words="--top=0.1"):
        return f"{SLABINFO} -p {process.pid} {words}"

    def show(self, words="--top=0.1", answer=say_all, columns=80, rows=24, before=""):
        """A process, and slabinfo that shows it in a terminal."""
        process = Impostor(self, answer)
        return process, Terminal(self, before + self.on(process, words), columns, rows)


class Screen(Case):
    def test_shows_the_process_and_its_caches_largest_first(self):
        process, screen = self.show("--top=20")  # a look on a busy machine does not make it longer
        screen.expect("gamma")
        screen.press("Space")
        lines = screen.expect("2.0M").splitlines()
        self.assertEqual(lines[0][8:], f"  python3 [{process.pid}]  up 26h00m  every 20s  from its socket  engine rseq")
        self.assertEqual(lines[1:], [
            "Slabs 816KiB  cached 64.0KiB  large 0  objects 1028  caches 3 of 4  errors 0",
            "",
            "NAME         OBJECTS  SIZE  ▼SPACE USE    LOSS SLABS  PART ALLOC/s FREE/s SLOW/s",
            "beta              64  1024  640KiB ▋       90%    40    30       0      0      0",
            "alpha            960   128  160KiB ████▌   25%    10     2    2.0M   2.0M      0",
            "gamma              4  4096 16.0KiB ██████   0%     1     0       0      0      0",
            *[""] * 16,
            "q quit  h help  <> sort  R reverse  Enter details  / filter  s interval  z empty"])

    def test_details_have_a_map_of_all_slabs(self):
        _, screen = self.show("--top=0.1 alpha")
        screen.expect("2.0M")
        screen.press("Enter")
        lines = screen.expect("G guarded 1").splitlines()
        self.assertEqual(len(lines), 24)
        self.assertEqual(lines[3:13], [
            "Cache    alpha",
            "Objects  960 in use  room for 1280  384 held by CPUs  128 bytes each, 128 apart",
            "Space    160KiB  in use 120KiB  lost 40.0KiB (25%)",
            "Slabs    10  partial 2  full 5  empty 3  next 16.0KiB  for 128 objects",
            "Errors   0  no debug flags",
            "Rates    alloc 2.0M/s  free 2.0M/s  slow alloc 0/s  slow free 0/s",
            "p partial 3  F full 1  e empty 1  D debug 1  l legacy 1  G guarded 1",
            "· empty ░▒▓ █ full", "p░ p▓ p▒ F█ e· D▓ l░ G█", "Events/s none"])
        screen.press("BSpace")
        screen.expect("NAME ")

    def test_refusals_are_shown_on_the_page(self):
        process, screen = self.show("--top=0.1 alpha", say_little)
        self.assertIn(" -      -", screen.expect("alpha"))
        screen.press("Enter")
        for text in (f"No map: process {process.pid} (python3): there is no such request", "not counted: process ",
                     "alloc -/s  free -/s  slow alloc 0/s"):
            screen.expect(text)

    def test_follows_the_size_of_the_terminal(self):
        _, screen = self.show()
        screen.expect("SLOW/s")
        screen.resize(60, 15)
        now = screen.expect("NAME         OBJECTS  ▼SPACE LOSS SLABS ALLOC/s FREE/s")
        self.assertEqual((names_on(now), len(now.splitlines())), ("beta alpha gamma", 15))
        screen.resize(200, 50)
        now = screen.expect("SLOW/s ERR DEBUG")
        self.assertIn("by space", now)
        self.assertTrue(now.splitlines()[-1].startswith("q quit"))
        screen.resize(30, 6)
        screen.expect("30 x 6 is too small,")
        screen.expect("please: 40 x 8")
        screen.resize(40, 8)
        screen.expect("gamma")

    def test_draws_in_ascii_where_the_locale_has_nothing_else(self):
        _, screen = self.show(before="LC_ALL=C ")
        screen.expect(" vSPACE USE ")
        self.assertIn(" #####. ", screen.line("alpha"))
        screen.press("Down", "Enter")
        screen.expect("p1 p8 p5 F9 e0 D7 l1 G9")

    def test_keeps_the_last_picture_of_a_process_that_has_ended(self):
        process, screen = self.show()
        pid = process.pid
        screen.expect("gamma")
        process.end()
        self.assertIn("gamma", screen.expect(f"process {pid} has ended; q quits"))
        screen.press("q")
        screen.expect("status 0")

    def test_tries_again_when_the_connection_is_lost(self):
        process, screen = self.show(columns=100)
        screen.expect("gamma")
        process.stop_listening()
        self.assertIn("gamma", screen.expect("; trying again"))
        process.listen()
        screen.expect("; trying again", False)
        screen.expect("2.0M")

    def expect_restored(self, command, keys, status):
        """What it does to a terminal is undone in the end."""
        stty = f"stty -g >{self.folder}/stty"
        screen = Terminal(self, f"trap : INT; echo before; {stty}1; {command}; echo status $?; {stty}2; "
                          f"cmp {self.folder}/stty1 {self.folder}/stty2 && echo restored")
        screen.expect("gamma")
        screen.press(keys)
        now = screen.expect("restored")
        self.assertTrue(status in now and "before" in now and "gamma" not in now, now)

    def test_quitting_restores_the_terminal(self):
        command = self.on(Impostor(self, say_all))
        self.expect_restored(command, "q", "status 0")
        self.expect_restored(command, "C-c", "status 130")

    def test_signals_that_end_it_restore_the_terminal(self):
        command = self.on(Impostor(self, say_all))
        for name, status in (("TERM", "status 143"), ("HUP", "status 129")):
            self.expect_restored(f"sh -c '(sleep 2; kill -{name} $$) & exec {command}'", "Down", status)

    def test_can_be_stopped_and_continued(self):
        process = Impostor(self, say_all)
        screen = Terminal(self, "PS1=shell: bash --norc --noprofile -i")
        screen.expect("shell:")
        screen.press(self.on(process), "Enter")
        screen.expect("gamma")
        screen.press("C-z")
        screen.expect("Stopped")
        screen.press("fg", "Enter")
        screen.expect("2.0M")
        screen.press("q")
        screen.expect("gamma", False)

    def test_a_working_process_is_read_from_its_memory_and_counts(self):
        # The rate of a busy one may stay unknown on a busy machine.
        screen = Terminal(self, self.on(Server(self, mode="pace"), "--top=0.2 -A entry"))
        self.assertIn("from its memory", screen.expect("ALLOC/s"))
        while screen.line("entry").split()[8] in "-0":
            time.sleep(POLL_S)
        screen.press("Enter")
        screen.expect("p partial ")
        screen.expect("alloc_slowpath ")

    def test_a_stopped_process_is_seen(self):
        server = Server(self)
        self.addCleanup(os.kill, server.pid, signal.SIGCONT)
        os.kill(server.pid, signal.SIGSTOP)
        screen = Terminal(self, self.on(server, "--top=0.1 entry"))
        screen.expect("from its memory")
        screen.press("Enter")
        screen.expect("Events/s none")
        screen.expect("p partial ")
        screen.press("q")
        screen.expect("status 0")


class Piped(Case):
    STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  "

    def test_prints_blocks_until_the_process_ends(self):
        process = Impostor(self, say_all)
        os.environ["LC_ALL"] = "C.UTF-8"
        tool = Program(self, SLABINFO, "-p", process.pid, "--top=0.05", "-N2")
        del os.environ["LC_ALL"]
        self.assertRegex(tool.line(), f"^{self.STAMP}python3 \\[{process.pid}\\]  slabs 816KiB  caches 3 of 4$")
        beta = "beta              64  1024  640KiB  90%  576KiB    40    30    1       -      -      -   0"
        alpha = "alpha            960   128  160KiB  25% 40.0KiB    10     2    3 "
        title = "NAME         OBJECTS  SIZE  ▼SPACE LOSS    LOST SLABS  PART  CPU ALLOC/s FREE/s SLOW/s ERR DEBUG"
        self.assertEqual([tool.line() for _ in range(4)], [title, beta, alpha + "      -      -      -   0", ""])
        self.assertEqual([tool.line() for _ in range(4)][3], alpha + "   2.0M   2.0M      0   0")
        pid = process.pid
        process.end()
        last = tool.process.stdout.read().splitlines()[-1]
        self.assertRegex(last, f"^{self.STAMP}process {pid} has ended$")
        self.assertEqual(tool.process.wait(60), 0)

    def test_honours_patterns_and_orders(self):
        tool = Program(self, SLABINFO, "-p", Impostor(self, say_all).pid, "--top=0.05", "-P", "-i", "alpha|beta")
        self.assertIn("caches 2 of 4", tool.line())
        self.assertEqual([(tool.line().split() or [""])[0] for _ in range(4)][1:], ["alpha", "beta", ""])
        self.assertEqual(tool.end(signal.SIGINT)[0], -signal.SIGINT)

    def test_ends_when_its_output_is_not_read_any_more(self):
        screen = Terminal(self, self.on(Impostor(self, say_all), "--top=0.05 | head -n 1"))
        screen.expect("status 0")

    def test_prints_blocks_on_terminals_that_cannot_be_drawn_on(self):
        for name in ("dumb", "nothing-like-this"):
            _, screen = self.show(before=f"TERM={name} ")
            self.assertIn("slabs 816KiB  caches 3 of 4", screen.expect("2.0M"))

    def test_bad_usage_is_one_error_message(self):
        for bad in ("0", "-1", "x", "1s", "86401", ""):
            self.assertEqual(self.slabinfo("--top=" + bad, status=2),
                             f'slabinfo: "{bad}" is not an interval; accepted are 0.01 to 86400 seconds\n')
        pid = Impostor(self, say_all).pid
        self.assertEqual(self.slabinfo("-p", str(pid), "--top", "nobody", status=1),
                         f'slabinfo: no cache of process {pid} (python3) matches "nobody"\n')
        self.assertEqual(self.slabinfo("--top", "--process", "nobody", status=2).count("\n"), 1)


class Keys(Case):
    """What keys and options change on the screen."""

    def scene(self, *steps, words="--top=0.1", **how):
        """Steps: keys as tmux calls them, what the screen then shows, the caches on it, and what it does not show."""
        _, screen = self.show(words, **how)
        for keys, shows, *more in steps:
            if keys:
                screen.press(*keys.split())
            now = screen.expect(shows)
            if more:
                self.assertIn(more[0], ("", names_on(now)), now)
            for absent in more[1:]:
                self.assertNotIn(absent, now)

    def test_sort_by_the_column_to_the_left_or_right(self):
        """Round, past a column that is seen only while it orders the rows."""
        self.scene(("", "▼SPACE", "beta alpha gamma"), ("<", "▼SIZE", "gamma beta alpha"),
                   ("< <", "NAME▲", "alpha beta gamma"), ("<", "DEBUG▼"), ("> >", "▼OBJECTS", "alpha beta gamma"))

    def test_reverse_the_order(self):
        self.scene(("", "▼SPACE"), ("R", "▲SPACE", "gamma alpha beta"), ("R", "▼SPACE"))

    def test_options_sort(self):
        for option, title in (("-L", "▼LOST"), ("-P", "▼PART"), ("-A", "▼ALLOC/s"), ("-iS", "▲SPACE")):
            self.scene(("", title), words="--top=0.1 " + option)

    def test_filter_by_regular_expression(self):
        self.scene(("", "gamma"), ("/ ^(A|g)", "Show caches that match: ^(A|g)_"),
                   ("Enter", "Only caches that match: ^(A|g)", "alpha gamma"),
                   ("/ C-u ( Enter", '"(" is not a regular expression'),
                   ("/ Escape", "Only caches that match: ^(A|g)", "alpha gamma"),
                   ("/ C-u Enter", "beta", "beta alpha gamma"))
        self.scene(("", "Only caches that match: alp", "alpha"), words="--top=0.1 alp")

    def test_show_empty_caches_and_bytes(self):
        self.scene(("", "gamma", "", "none "), ("z", "none "))
        self.scene(("", "640KiB"), ("B", "655360"), ("", "Slabs 835584"))

    def test_errors_and_debug_flags_are_seen_on_narrow_screens(self):
        self.scene(("", " ERR DEBUG"), ("", " 12 FZPU"), answer=say_trouble, columns=60, rows=15)

    def test_the_chosen_cache_stays_chosen_when_rows_move(self):
        """It is first when the order is reversed."""
        self.scene(("", "gamma"), ("End", "gamma"), ("R", "▲SPACE"), ("Enter", "Cache    gamma"), ("Escape", "NAME "),
                   ("Down Enter", "Cache    alpha"))

    def test_scroll_to_the_chosen_cache(self):
        self.scene(("", "beta", "beta alpha"), ("Down Down", "gamma", "alpha gamma"), ("PPage", "beta", "beta alpha"),
                   words="--top=0.1 -z -N 2", rows=8)

    def test_take_another_interval(self):
        self.scene(("", "every 1s"), ("s C-u 0.25 Enter", "every 0.25s"),
                   ("d C-u never Enter", '"never" is not an interval; accepted are 0.01 to 86400 seconds'),
                   ("", "every 0.25s"), words="--top")

    def test_look_again_when_asked(self):
        """One look alone has no rates."""
        self.scene(("", "gamma", "", "2.0M"), ("Space", "2.0M"), words="--top=86400")

    def test_look_less_often_where_a_look_takes_long(self):
        self.scene(("", "s (a look takes "), words="--top=0.01", answer=say_slowly)

    def test_a_map_of_many_slabs_joins_neighbours(self):
        self.scene(("", "alpha"), ("Enter", "F full 8000"), ("", "the first 8000 of 9000 slabs"),
                   ("", "each place: up to "), ("", "█" * 20), ("m", "F" * 20), words="--top=0.1 alpha",
                   answer=say_many_slabs)

    def test_help_names_the_keys(self):
        self.scene(("", "alpha"), ("h", "the other way round"), ("Escape", "alpha"),
                   ("?", "show only caches that match a regular expression"), ("", "ALLOC/s is exact"))


unittest.main()
