# SPDX-License-Identifier: MIT
"""slabinfo --record: what a sample holds, how a recording ends, and that a file that is something else stays as it is.
slabinfo --diff: what changed between two files of --json, byte by byte (golden/diff*).

usage: recordings_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import datetime
import json
import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

from processes import SLABINFO, FilesCase, Impostor, Program, Server, read, write

RECLAIMABLE = 1 << 21  # SLAB_RECLAIM_ACCOUNT
SOME = {"entry": (1000, 49900), "value": (20, 40000), "idle": (0, 0), "operation": (50, 512), "pages": (700, 700, RECLAIMABLE),
        "steady": (3, 300), "old_index": (2, 100), "attribute": (300, 300000)}
MORE = {"value": (20, 40500), "entry": (4000, 199600), "idle": (0, 0), "operation": (7, 40), "pages": (900, 900, RECLAIMABLE),
        "steady": (3, 300), "new_index": (512, 8192), "attribute": (300, 299000)}


def stats(uptime, caches, pid=4711, command="directory", now=None):
    """Caches with slabs of 4096 bytes: name, slabs, objects, flags."""
    process = {"pid": pid, "command": command, "uptime": uptime, "now": uptime * 1000 + 7940500 if now is None else now}
    rows = [(name, *numbers, 0)[:4] for name, numbers in (caches.items() if isinstance(caches, dict) else caches)]
    return json.dumps({"slab": 2, "ok": True, "process": process, "caches": [
        {"name": name, "order": 0, "slabs": slabs, "slab_bytes": 4096 * slabs, "objects": objects, "flags": flags}
        for name, slabs, objects, flags in rows]}) + "\n"


class Diff(FilesCase):
    def setUp(self):
        super().setUp()
        write("before.json", stats(60, SOME))
        write("after.json", stats(663, MORE))

    def diff(self, *words):
        return self.slabinfo(*words, "--diff", "before.json", "after.json")

    def names(self, *words):
        """Those in the table, without its head and its last line."""
        lines = self.diff(*words).splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith("Name"))
        return " ".join(line.split()[0] for line in lines[head + 1:] if not line.startswith("Total "))

    def test_prints_what_it_always_printed(self):
        self.golden("diff.txt", self.diff())
        self.golden("diff_bytes.txt", self.diff("-B"))

    def test_what_grew_most_comes_first_and_what_shrank_last(self):
        names = "entry new_index pages value attribute old_index operation"
        self.assertEqual(self.names(), names)
        self.assertEqual(self.names("-i"), " ".join(reversed(names.split())))
        self.assertEqual(self.names("-z"), "entry new_index pages value idle steady attribute old_index operation")

    def test_lines_can_be_cut_and_the_total_stays(self):
        self.assertEqual(self.names("-N2"), "entry new_index")
        self.assertEqual(self.diff("-N2").splitlines()[-1], self.diff().splitlines()[-1])

    def test_reclaimable_caches_can_be_left_out(self):
        self.assertEqual(self.names("-U"), "entry new_index value attribute old_index operation")
        self.assertIn("Total of 8 caches", self.diff("-U"))

    def test_caches_that_came_or_went_are_marked(self):
        lines = self.diff("-z").splitlines()
        for mark, name in ((" new", "new_index"), (" gone", "old_index")):
            self.assertEqual([line.split()[0] for line in lines if mark in line], [name])

    def test_an_empty_cache_that_came_is_a_change(self):
        write("before.json", stats(60, {}))
        write("after.json", stats(663, {"young": (0, 0)}))
        self.assertEqual(self.names(), "young")

    def test_caches_of_one_name_are_paired_in_their_order(self):
        write("before.json", stats(60, [("twin", (1, 10)), ("twin", (5, 20))]))
        write("after.json", stats(663, [("twin", (1, 10)), ("twin", (6, 25))]))
        self.assertEqual(self.names(), "twin")
        self.assertIn(["twin", "20", "25", "+5", "20480", "24576", "+4096"],
                      [line.split() for line in self.diff("-B").splitlines()])

    def test_the_same_file_twice_has_no_changes(self):
        write("after.json", read("before.json"))
        self.assertEqual(self.names(), "")
        self.assertEqual(self.diff().splitlines()[-1].split(),
                         "Total of 8 caches 391512 391512 0 8.1MiB 8.1MiB 0".split())

    def test_shows_how_long_they_are_apart(self):
        later = "Process 4711 (directory): after.json is 10m03s later than before.json\n"
        self.assertTrue(self.diff().startswith(later))
        self.assertTrue(self.slabinfo("--diff", "after.json", "before.json").startswith(
            "Process 4711 (directory): before.json is 10m03s earlier than after.json\n"))
        write("after.json", stats(663, MORE, now=0))  # times of core files are not known
        self.assertTrue(self.diff().startswith(later))

    def test_two_processes_are_named(self):
        """Another number; another program; the number was given again."""
        for pid, command, uptime, up in ((4712, "directory", 663, "11m03s"), (4711, "slapd", 663, "11m03s"),
                                         (4711, "directory", 3, "3.0s")):
            write("after.json", stats(uptime, MORE, pid, command, now=8603500))
            self.assertEqual(self.diff().splitlines()[:3], [
                "These are two processes:", "before: 4711 (directory), up 1m00s, of before.json",
                f"after:  {pid} ({command}), up {up}, of after.json"])

    def test_json_has_the_same(self):
        document = self.diff("--json")
        self.golden("diff.json", self.diff("--json", "-N2"))
        self.valid(document)
        for word, other in (("gone", "away"), ("growth", "more"), ("total", "sum")):
            self.valid(document.replace(f'"{word}"', f'"{other}"'), 1)
        every, first = self.diff("--json", "-z"), json.loads(self.diff("--json", "-N1"))
        self.valid(every)
        self.assertEqual((len(json.loads(every)["changes"]), len(first["changes"])), (9, 1))
        self.assertEqual(json.loads(every)["total"], first["total"])

    def test_reads_every_json_of_a_process(self):
        server = Server(self)
        write("before.json", self.slabinfo("--json", "-S"))
        server.do_task("l")
        write("after.json", self.slabinfo("--json", "-X"))
        self.assertRegex(self.diff(), r"(?m)^entry +\d+ +\d+ +\+100 ")
        self.assertIn(f"Process {server.pid} (control_server): after.json is ", self.diff())
        self.valid(self.diff("--json"))

    def test_one_of_them_may_be_standard_input(self):
        ran = subprocess.run([SLABINFO, "--diff", "before.json", "-"], input=read("after.json"), text=True, check=True,
                             stdout=subprocess.PIPE)
        self.assertEqual(ran.stdout, self.diff().replace("after.json", "standard input"))

    def test_files_that_are_something_else_are_named(self):
        whole = stats(60, SOME)
        for text, wrong in (
                ("", "is empty"), ("Name  Objects\nentry 1\n", "is no JSON"), ("\0", "is no JSON"),
                (whole[:len(whole) // 2], "is incomplete"), (" \n", "is incomplete"), (whole * 2, "goes on behind its end"),
                ("[]", "has no list of caches"), ("7\n", "has no list of caches"),
                ('{"processes":[]}', "has no list of caches"),
                ('{"slab":2,"ok":true,"caches":{}}', "has no list of caches"),
                ('{"slab":2,"ok":true,"caches":[7]}', "has a cache without a name"),
                ('{"slab":3,"ok":true,"caches":[]}', "is of another version of slabinfo"),
                ('{"slab_recording":2,"ms":1,"caches":[]}', "is a recording, which --plot draws")):
            write("bad.json", text)
            for words in (["bad.json", "after.json"], ["before.json", "bad.json", "--json"]):
                self.refused(["--diff", *words], f"bad.json {wrong}; --diff compares two files that slabinfo --json wrote")

    def test_files_that_cannot_be_read_are_named(self):
        """/dev/zero never ends."""
        for words, error in (
                (["before.json", "no.json"], "no.json cannot be opened: No such file or directory"),
                (["/", "after.json"], "/ cannot be read: Is a directory"),
                (["/dev/zero", "after.json"],
                 "/dev/zero is no JSON; --diff compares two files that slabinfo --json wrote"),
                (["before.json"], "--diff compares two files that --json wrote, and 1 is given"),
                (["a", "b", "c"], "--diff compares two files that --json wrote, and 3 are given")):
            self.refused(["--diff", *words], error)


ANSWER = json.dumps({"slab": 2, "ok": True, "process": {"pid": 1}, "caches": [
    {"name": "entry", "object_size": 712, "slab_size": 712, "order": 4, "slabs": 120, "slab_bytes": 7864320, "partial": 40,
     "objects": 9800, "total_objects": 11040, "populated": 7864320},
    {"name": 'a "quoted" / name', "object_size": 64, "order": 0}]}) + "\n"
CACHES = ('"caches":[{"name":"entry","object_size":712,"objects":9800,"total_objects":11040,"slabs":120,"partial":40,'
          '"bytes":7864320,"used":6977600,"populated":7864320},{"name":"a \\"quoted\\" / name","object_size":64,"objects":0,'
          '"total_objects":0,"slabs":0,"partial":0,"bytes":0,"used":0,"populated":0}]}')
START = '{"slab_recording":2,'


class Samples(FilesCase):
    def samples(self):
        """Those of the file, each of which must be whole."""
        text = read("file.json")
        self.assertTrue(text == "" or text.endswith("\n"), text)
        return [json.loads(line) for line in text.splitlines()]

    def wait_for(self, count):
        while not Path("file.json").exists() or read("file.json").count("\n") < count:
            time.sleep(0.001)

    def recorder(self, *words):
        return Program(self, SLABINFO, "--record=file.json", *words)


class Record(Samples):
    def setUp(self):
        super().setUp()
        self.process = Impostor(self, lambda request, _: ANSWER if request == "stats" else '{"slab":2,"ok":false,"error":"no"}\n')

    def record(self, *words, status=0):
        return self.slabinfo("--record=file.json", *words, status=status)

    def test_a_sample_is_a_line_of_json(self):
        self.record("--interval=0.01", "-N3")
        text = read("file.json")
        self.assertEqual(text.count("\n"), 3)
        for line in text.splitlines():
            self.assertTrue(line.startswith(START) and line.endswith(CACHES), line)
        self.valid(text)
        for old, new in (('"used":', '"user":'), ('"pid":', '"number":'), ('"objects":9800', '"objects":-1'),
                         ('Z","ms"', '","ms"'), ('"slab_recording":2', '"slab_recording":3')):
            self.valid(text.replace(old, new), 1)

    def test_a_sample_has_its_time_and_its_process(self):
        before = time.time()
        self.record("--interval=2.5", "-N1")
        sample, = self.samples()
        self.assertTrue(before - 0.001 <= sample["ms"] / 1000 <= time.time())
        moment = datetime.datetime.fromtimestamp(sample["ms"] // 1000, datetime.timezone.utc)
        self.assertEqual(sample["time"], f"{moment:%Y-%m-%dT%H:%M:%S}.{sample['ms'] % 1000:03}Z")
        self.assertEqual((sample["interval_ms"], sample["pid"], sample["command"]), (2500, self.process.pid, "python3"))

    def test_a_pattern_chooses_caches(self):
        self.record("-N1", "ENT")
        self.assertEqual(len(self.samples()[0]["caches"]), 1)
        os.unlink("file.json")
        self.refused(["--record=file.json", "nobody"], f'no cache of process {self.process.pid} (python3) matches "nobody"', 1)
        self.assertEqual(read("file.json"), "")

    def test_standard_output_is_a_file(self):
        text = self.slabinfo("--record=-", "--interval=0.01", "-N2")
        self.assertEqual(text.count("\n"), 2)
        self.valid(text)

    def test_what_is_recorded_is_added_to_the_file(self):
        self.record("-N1")
        first = read("file.json")
        self.record("-N1")
        self.assertTrue(read("file.json").startswith(first))
        self.assertEqual(len(self.samples()), 2)

    def test_goes_on_when_the_process_answers_again(self):
        """It is reported once."""
        tool = self.recorder("--interval=0.01")
        self.wait_for(2)
        self.process.stop_listening()
        error = tool.process.stderr.readline()
        self.process.listen()
        self.wait_for(read("file.json").count("\n") + 2)
        self.assertEqual(tool.end(signal.SIGINT), (0, ""))
        self.assertIn(" (python3) does not answer", error)

    def test_a_process_that_never_answered_is_not_recorded(self):
        self.process.stop_listening()
        self.assertEqual(self.record("-p", str(self.process.pid), status=2).count("\n"), 1)

    def test_other_files_stay_as_they_are(self):
        for text in ("precious\n", "x", '{"slab":2}\n', '{"slab_recording":3,}\n', " " * 5000):
            write("file.json", text)
            self.refused(["--record=file.json", "-N1"],
                         "file.json is not a recording and stays unchanged; give --record a new file, or one that it made")
            self.assertEqual(read("file.json"), text)

    def test_a_last_line_that_was_cut_short_is_taken_off(self):
        """In the first line, too; and a line that is longer than what is read at once."""
        self.record("--interval=0.01", "-N2")
        whole = read("file.json")
        for kept in ("", whole, whole * 2):
            for rest in (START[:5], START, START + "x" * 10000):
                write("file.json", kept + rest)
                self.assertEqual(self.record("-N1"), "slabinfo: file.json: the last line was incomplete and is removed\n")
                self.assertTrue(read("file.json").startswith(kept))
                self.assertEqual(len(self.samples()), kept.count("\n") + 1)

    def test_a_file_has_one_recorder(self):
        """Another could take the line that is just written for one that was cut short."""
        tool = self.recorder("--interval=80000")
        self.wait_for(1)
        self.refused(["--record=file.json", "-N1"],
                     "another process records to file.json; give --record another file")
        self.assertEqual(tool.end(), (0, ""))
        self.assertEqual(len(self.samples()), 1)

    def test_files_that_cannot_be_written_are_named(self):
        os.mkdir("directory")
        for path, error in (("directory", "directory cannot be opened: Is a directory"),
                            ("no/file", "no/file cannot be opened: No such file or directory"),
                            ("/dev/full", "/dev/full cannot be written: No space left on device")):
            self.refused([f"--record={path}", "-N1"], error)


class RecordReal(Samples):
    def test_ends_with_whole_lines_on_a_signal(self):
        Server(self)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            tool = self.recorder("--interval=0.01")
            self.wait_for(3)
            self.assertEqual(tool.end(number), (0, ""))
            self.assertGreaterEqual(len(self.samples()), 3)
            os.unlink("file.json")

    def test_does_not_wait_for_the_next_sample_to_end(self):
        """It sleeps for hours then."""
        Server(self)
        tool = self.recorder("--interval=80000")
        self.wait_for(1)
        self.assertEqual(tool.end(), (0, ""))

    def test_ends_with_the_process(self):
        server = Server(self)
        tool = self.recorder("--interval=80000")
        self.wait_for(1)
        server.end()
        errors = tool.process.communicate(timeout=60)[1]
        self.assertEqual((tool.process.returncode, errors), (0, f"slabinfo: process {server.pid} (control_server) has ended; "
                                                             "1 sample is in file.json\n"))
        self.assertEqual(len(self.samples()), 1)

    def test_a_stopped_process_is_read_from_its_memory(self):
        server = Server(self)
        self.addCleanup(os.kill, server.pid, signal.SIGCONT)
        os.kill(server.pid, signal.SIGSTOP)
        self.assertEqual(self.slabinfo("--record=file.json", "--interval=0.01", "-N3"), "")
        self.assertEqual(len(self.samples()), 3)

    def test_without_a_process_there_is_no_file(self):
        self.slabinfo("--record=file.json", "-N1", status=2)
        self.assertFalse(Path("file.json").exists())

    def test_intervals_have_bounds(self):
        for interval in ("0", "0.009", "86401", "-1", "1s", "", "nan", "inf"):
            self.refused(["--record=file.json", "--interval=" + interval],
                         f'"{interval}" is not an interval; accepted are 0.01 to 86400 seconds')
        self.refused(["-l", "--interval=1"],
                     "--interval is the time between two looks; it goes with --top and --record")


unittest.main()
