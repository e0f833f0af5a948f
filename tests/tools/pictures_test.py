# SPDX-License-Identifier: MIT
"""slabinfo --map and --plot: the pictures, byte by byte (golden/map.svg and golden/plot.svg), and the recordings that can be
drawn.

usage: pictures_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import json
import os
import re
import subprocess
import unittest
import xml.dom.minidom
from pathlib import Path

from processes import SLABINFO, FilesCase, Impostor, Server, read, write


class Pictures(FilesCase):
    def drawn(self, option, *words):
        self.assertEqual(self.slabinfo(f"--{option}={option}.svg", *words), "")
        picture = read(f"{option}.svg")
        xml.dom.minidom.parseString(picture)
        return picture

    def golden(self, name, got):
        """The style sheet is text of the source."""
        super().golden(name, re.sub("(?s)<style>.*</style>", "</style>", got))


NOON = 1763726400000  # of 2025-11-21
ENTRY = ("entry", 10, 4096, 400)


def sample(ms, *caches, pid=4711, interval=1000):
    return json.dumps({"slab_recording": 2, "time": "", "ms": ms, "interval_ms": interval, "pid": pid, "command": "directory",
                       "caches": [dict(zip(("name", "objects", "bytes", "used"), cache)) for cache in caches]},
                      separators=(",", ":")) + "\n"


def small_recording(start=NOON, pid=4711):
    """Two caches for ten seconds; the second exists from the fourth on."""
    return "".join(sample(
        start + i * 1000, ("entry", 1000 + i * 700, 1000000 + i * 500000, 712000 + i * 498400),
        *[("operation", 512 >> i % 3, 262144, 245760 >> i % 3)] * (i >= 4), pid=pid) for i in range(11))


class Plot(Pictures):
    def plot(self, recording, *words):
        write("recording.json", recording)
        return self.drawn("plot", *words, "recording.json")

    @staticmethod
    def lines(picture, classes="c0 d0"):
        """The d of the lines of this class, one for each panel."""
        return re.findall(f'(?m)^<path class="l {classes}" d="(M .*)', picture)

    def test_draws_what_it_always_drew(self):
        self.golden("plot.svg", self.plot(small_recording()))

    def test_standard_output_is_a_file(self):
        picture = self.plot(small_recording())
        self.assertEqual(self.slabinfo("--plot=-", "recording.json"), picture)

    def test_follows_the_theme_of_the_reader(self):
        picture = self.plot(small_recording())
        self.assertEqual([picture.count(words) for words in ("@media (prefers-color-scheme:dark){", "href", "<script")],
                         [1, 0, 0])

    def test_one_sample_is_a_dot(self):
        picture = self.plot(sample(NOON, ENTRY))
        self.assertEqual(["m-3 0h6\"" in line for line in self.lines(picture)], [True] * 3)
        self.assertIn("1 sample of 1 cache.", picture)

    def test_samples_in_which_nothing_is_allocated_are_drawn(self):
        self.plot(sample(NOON, ("entry", 0, 0, 0)) + sample(NOON + 1000))
        self.assertIn("2 samples of 0 caches.", self.plot(sample(NOON) + sample(NOON + 1000)))

    def interrupted_once(self, picture):
        self.assertEqual([line.count("M") for line in self.lines(picture)], [2] * 3)

    def test_a_line_is_interrupted_where_nothing_is_known(self):
        self.interrupted_once(self.plot("".join(sample(NOON + ms, ENTRY) for ms in (0, 1000, 9000, 10000))))

    def test_processes_that_follow_each_other_are_marked(self):
        picture = self.plot(small_recording() + small_recording(NOON + 11000, 4712))
        self.assertIn("2 processes after each other", picture)
        self.assertEqual(picture.count(">process 4712<"), 1)
        self.assertEqual(picture.count('<path class="change"'), 3)
        self.interrupted_once(picture)

    def test_several_files_are_one_picture(self):
        whole = self.plot(small_recording() + small_recording(NOON + 11000))
        write("one.json", small_recording())
        write("two.json", small_recording(NOON + 11000))
        self.assertEqual(self.slabinfo("--plot=-", "two.json", "one.json"), whole)

    def test_the_largest_caches_have_lines_of_their_own(self):
        caches = [(f"cache{i}", i, i * 4096, i * 100) for i in range(200)]
        recording = sample(NOON, *caches) + sample(NOON + 1000, *caches)
        picture = self.plot(recording)
        self.assertEqual([len(self.lines(picture, classes)) for classes in ("c7 d0", "c0 d1", "other")], [3, 0, 3])
        self.assertEqual([picture.count(f">{name} <") for name in ("cache192", "cache191", "192 others")], [3, 0, 3])
        self.assertEqual(len(self.lines(self.plot(recording, "-N20"), "c0 d1")), 3)

    def test_many_samples_are_not_a_large_picture(self):
        """A week of seconds is not larger than what the picture has room for, and the one peak of it is there."""
        picture = self.plot("".join(sample(NOON + i * 1000, ("entry", 900 if i == 7777 else 1, 4096, 100))
                                    for i in range(20000)))
        self.assertLess(len(picture), 200000)
        self.assertIn(">800<", picture)

    def test_names_are_text_and_nothing_else(self):
        picture = self.plot(sample(NOON, ENTRY).replace("entry", r"""<b>&\"'\u0007é\u20ac""").replace("directory", "a<b>&c"))
        self.assertIn("&#60;b&#62;&#38;&#34;'?é€", picture)
        self.assertIn("Caches of a&#60;b&#62;&#38;c<", picture)

    def test_numbers_may_be_large(self):
        caches = ("entry", 2 ** 64 - 1, 2 ** 64 - 1, 0), ("other", 1, 1, 1)
        self.assertIn(">20000000T<", self.plot(sample(NOON, *caches, interval=86400000) + sample(253402300799999, *caches)))

    def test_long_names_are_cut_in_the_middle(self):
        start = "x" * 40
        picture = self.plot(sample(NOON, (start + "_one", 10, 4096, 400), (start + "é_two", 10, 4096, 400)))
        self.assertEqual([picture.count(part) for part in (start, "xx…", "_one <", "_two <")], [0, 6, 3, 3])

    def test_a_last_line_that_was_cut_short_is_left_out(self):
        whole = small_recording()
        picture = self.plot(whole)
        for size in (5, 40, 100):
            write("recording.json", whole + whole[:size])
            ran = subprocess.run([SLABINFO, "--plot=-", "recording.json"], text=True, capture_output=True, check=True)
            self.assertEqual((ran.stdout, ran.stderr),
                             (picture, "slabinfo: recording.json: the last line, 12, is incomplete and is ignored\n"))

    def test_a_line_that_is_no_sample_is_named(self):
        good = small_recording()
        for line in ("\n", "x\n", "{}\n", "[]\n", '{"slab_recording":2,"ms":1}\n', '{"slab_recording":3,"ms":1,"caches":[]}\n',
                     '{"slab_recording":2,"ms":18446744073709551615,"caches":[]}\n',
                     '{"slab_recording":2,"ms":0,"caches":[]}\n', '{"slab_recording":2,\n', "x"):
            write("recording.json", good + line)
            self.refused(["--plot=plot.svg", "recording.json"], "recording.json: line 12 is not a sample that --record wrote")

    def test_files_that_are_something_else_are_named(self):
        write("recording.json", "")
        for words, error in (
                (["recording.json"], "recording.json has no samples; slabinfo --record=recording.json takes some"),
                (["no.json"], "no.json cannot be opened: No such file or directory"),
                (["/"], "/ cannot be read: Is a directory"),
                ([], "--plot needs the recordings to draw: slabinfo --plot=SVG FILE...")):
            self.refused(["--plot=plot.svg", *words], error)
        self.assertFalse(Path("plot.svg").exists())

    def test_recordings_of_the_same_time_are_not_mixed(self):
        write("one.json", small_recording())
        write("two.json", small_recording(NOON + 10000, 4712))
        for other in ("two.json", "one.json"):
            self.refused(["--plot=plot.svg", "one.json", other],
                         f"one.json and {other} are of the same time; plot them one by one")

    def test_a_picture_that_cannot_be_written_leaves_the_last_one(self):
        write("recording.json", small_recording())
        os.mkdir("fixed")
        for path, error in (("fixed", "Is a directory"), ("no/plot.svg", "No such file or directory"),
                            ("/dev/full", "No space left on device")):
            self.refused([f"--plot={path}", "recording.json"], f"{path} cannot be written: {error}")
        write("plot.svg", "the last one")
        write("recording.json", "x\n")
        self.slabinfo("--plot=plot.svg", "recording.json", status=2)
        self.assertEqual(read("plot.svg"), "the last one")

    def test_recordings_of_a_process_can_be_drawn(self):
        Server(self)
        self.slabinfo("--record=recording.json", "--interval=0.01", "-N3")
        picture = self.plot(read("recording.json"))
        self.assertIn("Caches of control_server<", picture)
        self.assertIn(". 3 samples of 4 caches.", picture)


def stats(*caches, **process):
    return {"slab": 2, "ok": True, "process": process, "caches": caches}


def slabs(total=None, **rows):
    """The answer about the caches with these names, each with as many slabs as rows, or with `total`."""
    return {"slab": 2, "ok": True, "caches": [{"name": name, "total": total or len(of)} for name, of in rows.items()],
            "columns": ["cache", "address", "used", "room", "state", "node", "debug_flags"],
            "slabs": [(i, *row) for i, of in enumerate(rows.values()) for row in of]}


OTHER = "a <name> & more"
ROWS = ((65536, 92, 92, "full", 0, "-"), (131072, 0, 92, "empty", 0, "-"), (196608, 91, 92, "partial", 0, "-"),
        (262144, 30, 92, "partial", 0, "-"), (327680, 92, 92, "full", 0, "-"), (393216, 1, 92, "partial", 0, "-"),
        (458752, 50, 60, "debug", 0, "FZ"), (524288, 44, 92, "legacy", 0, "-"), (589824, 0, 1, "guarded", 0, "-"))
# Slabs of all states in entry; none in idle.
ANSWERS = {
    "stats": stats(
        {"name": "entry", "object_size": 712, "slab_size": 712, "order": 4, "objects_per_slab": 92, "slabs": 9,
         "slab_bytes": 589824, "partial": 2, "objects": 400},
        {"name": "idle", "object_size": 64},
        {"name": OTHER, "object_size": 100, "order": 0, "objects_per_slab": 40, "slabs": 1, "slab_bytes": 4096, "objects": 40},
        pid=1, nodes=1),
    "slabs": slabs(unknown=((4096, 1, 1, "full", 0, "-"),), idle=(), entry=ROWS,
                   **{OTHER: ((4096, 40, 40, "full", 0, "-"),)})}


class Map(Pictures):
    def answering(self, answers):
        return Impostor(self, lambda request, _: json.dumps(answers[request]) + "\n")

    def normal(self, picture, process):
        """Without what is of this run: the process's number and the time."""
        self.assertIn(f"Process {process.pid}, ", picture)
        return re.sub(rf"Process {process.pid}, .*?\. ", "Process PID, TIME. ", picture, count=1).replace(
            f"process {process.pid} (", "process PID (")

    def test_draws_what_it_always_drew(self):
        process = self.answering(ANSWERS)
        self.golden("map.svg", self.normal(self.drawn("map"), process))

    def test_a_cache_that_the_answer_has_in_part_is_asked_for_by_name(self):
        process = self.answering({**ANSWERS, "slabs": slabs(9, entry=ROWS[:1], **{OTHER: ()}),
                                  "slabs entry": slabs(entry=ROWS),
                                  f"slabs {OTHER}": slabs(**{OTHER: ((4096, 40, 40, "full", 0, "-"),)})})
        self.golden("map.svg", self.normal(self.drawn("map"), process))

    def test_draws_the_caches_that_are_chosen(self):
        self.answering(ANSWERS)
        picture = self.drawn("map", "entry|idle")
        self.assertIn(">entry<", picture)
        self.assertNotIn("more", picture)
        self.assertIn("1 cache without slabs: idle.", picture)

    def test_a_cell_stands_for_neighbours_when_there_are_many(self):
        self.answering({"stats": stats({"name": "entry", "object_size": 64, "slabs": 60000, "objects": 1600000}),
                        "slabs entry": slabs(60000, entry=[(i * 4096, 32, 64, "partial", 0, "-") for i in range(1, 50001)])})
        picture = self.drawn("map")
        self.assertEqual(picture.count(": 3 slabs, 96 of 192</title>"), 16666)
        self.assertIn("a cell stands for up to 3 neighbours", picture)
        self.assertIn(">50000 slabs, 50 %<", picture)

    def test_draws_the_same_from_memory(self):
        server = Server(self)
        asked = self.normal(self.drawn("map"), server)
        self.assertEqual(self.normal(self.drawn("map", "--memory", "-p", str(server.pid)), server), asked)
        self.assertIn(">entry<", asked)
        self.assertIn("1 cache without slabs: empty.", asked)

    def test_a_full_slab_of_objects_that_cpus_hold_is_unused(self):
        self.answering({"stats": stats({"name": "entry", "object_size": 64, "slabs": 1, "slab_bytes": 4096, "full": 1,
                                        "cpu_objects": 64}),
                        "slabs entry": slabs(entry=((65536, 0, 64, "full", 0, "-"),))})
        picture = self.drawn("map")
        self.assertIn(">0 % used<", picture)
        self.assertIn(">1 slab, 0 %, CPUs hold the rest<", picture)

    def test_an_answer_that_is_not_understood_is_no_picture(self):
        process = self.answering(dict.fromkeys(ANSWERS, {"slab": 2, "ok": True, "slabs": 7}) | {"stats": ANSWERS["stats"]})
        self.refused(["--map=map.svg"], f"process {process.pid} (python3) sent slabs in an unknown format")
        self.assertFalse(Path("map.svg").exists())

    def test_a_picture_that_cannot_be_written_is_named(self):
        process = self.answering(ANSWERS)
        self.refused(["--map=no/map.svg"], "no/map.svg cannot be written: No such file or directory")
        self.refused(["--map=map.svg", "nobody"], f'no cache of process {process.pid} (python3) matches "nobody"', 1)


unittest.main()
