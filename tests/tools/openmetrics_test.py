# SPDX-License-Identifier: MIT
"""Metrics of processes that only pretend: the exact text (tests/metrics; UPDATE=1 writes it anew), what is shown by name
and what is summed up, which format a client gets.

usage: openmetrics_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import itertools
import json
import os
import re
import unittest
import urllib.request

from processes import BUILD, SOURCE, Case, Impostor, Program

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
# A process that has said all that can be said.
FULL_PROCESS = {"version": "0.1.0", "engine": "rseq", "uptime": 99, "slab_bytes": 1000, "cached_bytes": 2000,
                "large_bytes": 3000, "metadata_bytes": 4000}
FULL_CACHE = {"name": "entry", "object_size": 712, "slab_size": 720, "order": 4, "slabs": 11, "slab_bytes": 720896,
              "partial": 2, "full": 4, "empty": 5, "cpu_objects": 28, "objects": 500, "total_objects": 1012,
              "populated": 700000, "errors": 3, "limit": 1000000, "counted": 123456, "counted_us": 2500001,
              "rcu_pending": 21, "rcu_freed": 22, "limit_hits": 23, "reserve": 24, "reserve_left": 25, "reclaimed": 26,
              "moved": 27, "debug_slabs": 6, "guarded_slabs": 1, "legacy_slabs": 2,
              "events": {"alloc_slowpath": 1, "alloc_refill": 2, "alloc_magazine": 3, "alloc_other_shard": 4,
                         "alloc_slab": 5, "alloc_node_mismatch": 6, "free_slowpath": 7, "free_flush": 8,
                         "free_magazine": 9, "free_other_node": 10, "free_slab": 11, "arrays_closed": 2**64 - 1}}


def cache(name, slabs, errors=0):
    return {"name": name, "object_size": 100, "order": 0, "slabs": slabs, "slab_bytes": 4096 * slabs, "cpu_objects": 1,
            "partial": 2, "empty": 1, "full": slabs - 3, "objects": 10 * slabs, "total_objects": 40 * slabs,
            "populated": 3000 * slabs, "errors": errors, "events": {"alloc_slowpath": 7}}


class Metrics(Case):
    def start(self, *caches, name=b"dir", **process):
        text = json.dumps({"slab": 2, "ok": True, "process": process, "caches": caches}) + "\n"
        return Impostor(self, lambda *_: text, name).pid

    def scrape(self, *options, accept=OPENMETRICS):
        """What slab-exporter serves about processes, and of which kind that is."""
        first = Program(self, BUILD / "bin-scripted/slab-exporter", "--listen", "127.0.0.1:0", *options).line()
        url = re.search("http:.*", first)[0]
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=60) as reply:
            text = reply.read().decode()
        return re.sub("(# [A-Z]+ )?slab_exporter.*\n", "", text), reply.headers["Content-Type"].partition(";")[0]

    def lines(self, text, start, expected):
        """The rest of those that begin so."""
        self.assertEqual([line[len(start):] for line in text.splitlines() if line.startswith(start)], expected)


class Text(Metrics):
    def expect_file(self, name, text):
        path = SOURCE / "tests/metrics" / name
        if os.environ.get("UPDATE"):
            path.write_text(text, encoding="utf-8")
        self.assertEqual(text, path.read_text(encoding="utf-8"))

    def test_of_a_process(self):
        pid = self.start(FULL_CACHE, **FULL_PROCESS)
        text, classic = (re.sub(f'pid="{pid}"', 'pid="42"', each)
                         for each in (self.slabinfo("--openmetrics"), self.scrape(accept="text/plain")[0]))
        self.expect_file("classic.txt", classic)
        self.expect_file("openmetrics.txt", "".join(re.findall("(?m)^#.*\n", text)))
        self.assertEqual(re.findall("(?m)^[^#].*", text), re.findall("(?m)^[^#].*", classic))

    def test_of_no_process_is_valid(self):
        text, _ = self.scrape()
        self.assertTrue(text.endswith("# EOF\n"), text)
        self.assertNotIn("{", text)

    def test_samples_of_a_family_stand_together(self):
        first, second = self.start(cache("a", 5), cache("b", 4)), self.start(cache("a", 3))
        text, _ = self.scrape()
        self.assertEqual(set(re.findall(r"(?m)^slab_cache_objects\{process=\"dir\",(.*)", text)),
                         {f'pid="{first}",cache="a"}} 50', f'pid="{first}",cache="b"}} 40',
                         f'pid="{second}",cache="a"}} 30'})
        families = [name for name, _ in itertools.groupby(re.findall("(?m)^([a-z_]+)[{ ]", text))]
        self.assertEqual(len(families), len(set(families)))
        self.lines(text, "slab_cache_limit_bytes{", [])

    def test_names_are_escaped_and_utf8(self):
        for name, shown in ((b'a"b\\c', r'a\"b\\c'), (b"na\xc3\xafve", "na\u00efve"),
                            (b"\xe2\x82\xac \xf0\x9f\x98\x80", "\u20ac \U0001f600"), (b"\xff\xfe", "??"),
                            (b"a\xc3", "a?"),
                            # Overlong ones, a surrogate, behind the last one, of five bytes.
                            (b"\xc0\xaf", "??"), (b"\xe0\x80\xaf", "???"), (b"\xed\xa0\x80", "???"),
                            (b"\xf4\x90\x80\x80", "????"), (b"\xf8\x88\x80\x80\x80", "?????")):
            pid = self.start(name=name)
            self.assertIn(f'\nslab_process_caches{{process="{shown}",pid="{pid}"}} 0\n',
                          self.slabinfo("--openmetrics", "--pid", str(pid)))

    def test_long_names_are_cut_between_characters(self):
        pid = self.start(cache("x" * 200, 5), cache("y" * 62 + "\u00ef", 5))
        self.lines(self.slabinfo("--openmetrics"), f'slab_cache_objects{{process="dir",pid="{pid}",cache=',
                   [f'"{"x" * 63}"}} 50', f'"{"y" * 62}"}} 50'])


class Bounds(Metrics):
    def caches(self, bound, *caches):
        """The samples of that process by family, with what is behind the process."""
        pid = self.start(*caches)
        text, _ = self.scrape("--max-caches", str(bound))
        return lambda family, expected: self.lines(text, f'slab_{family}{{process="dir",pid="{pid}"', expected)

    def test_largest_caches_have_their_names(self):
        expect = self.caches(2, cache("a", 5), cache("b", 9), cache("c", 3), cache("d", 7))
        expect("cache_objects", [',cache="b"} 90', ',cache="d"} 70', ',cache="other"} 80'])
        expect("cache_bytes", [f',cache="b"}} {9 * 4096}', f',cache="d"}} {7 * 4096}', f',cache="other"}} {8 * 4096}'])
        expect("cache_used_bytes", [',cache="b"} 9000', ',cache="d"} 7000', ',cache="other"} 8000'])
        expect("process_caches", ["} 4"])
        expect("process_folded_caches", ["} 2"])

    def test_as_many_caches_as_allowed_need_no_sum(self):
        self.caches(2, cache("small", 3), cache("other", 9))(
            "cache_objects", [',cache="small"} 30', ',cache="other"} 90'])

    def test_a_cache_with_errors_is_never_in_the_sum(self):
        self.caches(2, cache("a", 9), cache("damaged", 3, 1), cache("c", 8))(
            "cache_errors_total", [',cache="damaged"} 1', ',cache="a"} 0'])

    def test_the_sum_has_states_and_no_counters(self):
        expect = self.caches(1, cache("a", 9), cache("b", 4), cache("c", 4))
        expect("cache_slabs", [f',cache="{name}",state="{state}"}} {count}'
                               for name, *counts in (("a", 1, 2, 6), ("other", 2, 4, 2))
                               for state, count in zip(("empty", "partial", "full"), counts)])
        expect("cache_errors_total", [',cache="a"} 0'])
        expect("cache_object_size_bytes", [',cache="a"} 100'])
        expect("cache_counted_seconds_total", [',cache="a"} 0.000000'])

    def test_a_cache_that_is_called_other_is_in_the_sum(self):
        self.caches(1, cache("other", 9), cache("a", 4), cache("b", 3))(
            "cache_objects", [',cache="a"} 40', ',cache="other"} 120'])

    def processes(self, bound, *caches_and_bytes):
        pids = [self.start(*caches, slab_bytes=slab_bytes) for caches, slab_bytes in caches_and_bytes]
        return pids, self.scrape("--max-processes", str(bound))[0]

    def test_largest_processes_have_their_names(self):
        pids, text = self.processes(2, ([cache("a", 3)], 300), ([cache("a", 9)], 900),
                                    ([cache("a", 4), cache("b", 5)], 500), ([cache("a", 7)], 700))
        self.lines(text, "slab_process_slab_bytes{process=",
                   [f'"dir",pid="{pids[1]}"}} 900', f'"dir",pid="{pids[3]}"}} 700', '"other",pid="0"} 800'])
        self.lines(text, 'slab_cache_objects{process="other",pid="0",cache=', ['"other"} 120'])
        for family in ("info", "uptime_seconds"):
            self.lines(text, f'slab_process_{family}{{process="other"', [])

    def test_a_process_with_errors_is_never_in_the_sum(self):
        pids, text = self.processes(1, ([cache("a", 3, 1)], 300), ([cache("a", 9)], 900))
        self.lines(text, "slab_process_slab_bytes{process=", [f'"dir",pid="{pids[0]}"}} 300', '"other",pid="0"} 900'])


class Accept(Metrics):
    def test_openmetrics_is_for_those_that_ask_for_it(self):
        for kind, headers in (
                ("application/openmetrics-text", (
                    OPENMETRICS, "application/openmetrics-text",
                    'Application/OpenMetrics-Text;Version="1.0.0"; charset=utf-8',
                    # Prometheus 2.42 and 3.
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
                    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,*/*;q=0.2",
                    "text/plain,application/openmetrics-text;version=1.0.0")),
                ("text/plain", (
                    "", "*/*", "text/plain", "text/html,application/xhtml+xml,*/*;q=0.8",
                    "application/openmetrics-text;version=0.0.1", "application/openmetrics-text;version=2.0.0",
                    "application/openmetrics-text;version=1.0.0;q=0", ",;=,;q=;;,", "application/openmetrics-textual",
                    "application/openmetrics-text;version=1.0.0;q=0.2,text/plain;q=0.9"))):
            for accept in headers:
                self.assertEqual(self.scrape(accept=accept)[1], kind, accept)


unittest.main()
