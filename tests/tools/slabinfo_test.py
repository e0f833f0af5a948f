# SPDX-License-Identifier: MIT
"""slabinfo from the outside: what it prints and how it exits, on live servers whose caches are known. Its table, its options
for debugging, call sites of tracked caches with leaks and waste, and what tunes a process.

usage: slabinfo_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import json
import os
import re
import time
import unittest

from processes import Case, Impostor, Server, cache_of, line_with, row_of, table_of

HEADER = "Name                   Objects Objsize           Space Slabs/Part/Cpu  O/S O %Fr %Ef Flg"


class Table(Case):
    def test_table_is_the_default(self):
        """The lines about resident memory below it change all the time."""
        Server(self)
        table = self.slabinfo().partition("\nResident ")[0]
        entry = row_of(table, "entry")
        self.assertEqual(table.splitlines()[0], HEADER)
        self.assertEqual(entry[1:3], ["500", "712"])
        self.assertTrue(entry[3].endswith("KiB"), entry)
        for option in ("-l", "--slabs"):
            self.assertEqual(self.slabinfo(option).partition("\nResident ")[0], table)

    def test_columns_stand_where_the_header_says(self):
        Server(self)
        for line in table_of(self.slabinfo()):
            self.assertRegex(line, r"^.{29}\S .{6}\S ")  # Objects and Objsize end there

    def test_slabs_of_a_row_add_up(self):
        Server(self)
        entry = row_of(self.slabinfo(), "entry")
        others, partial, cpu = map(int, entry[4].split("/"))
        self.assertLessEqual(partial, others)
        self.assertGreaterEqual((others + cpu) * int(entry[5]), 500)
        self.assertEqual(row_of(self.slabinfo(), "pblock")[-1], "A")  # aligned

    def test_empty_caches_on_request(self):
        Server(self)
        for words, rows in (([], "entry"), (["-z"], "empty entry"), (["--empty"], "empty")):
            text = self.slabinfo(*words)
            self.assertEqual([name for name in ("empty", "entry") if row_of(text, name)], rows.split())

    def test_a_pattern_selects_without_regard_to_case(self):
        """One match alone is shown in full, as the kernel's tool does."""
        server = Server(self)
        self.assertEqual(self.slabinfo("-l", "ENTR|pbl").count("\n"), 3)
        self.assertEqual(self.slabinfo("-l", "^FIRST$").count("\n"), 2)
        self.assertIn("Slabcache: entry", self.slabinfo("entry"))
        self.refused(["nobody"], f'no cache of process {server.pid} (control_server) matches "nobody"', 1)

    def test_totals_add_up(self):
        Server(self)
        totals = self.slabinfo("-T")
        self.assertGreaterEqual(totals.count("\n"), 21)
        self.assertTrue(totals.startswith("Slabcache Totals\n"))
        caches, active = map(int, re.search(r"\nSlabcaches +: +(\d+) +Active +: +(\d+)", totals).groups())
        self.assertEqual(caches, active + 1)  # "empty"
        self.assertEqual(sum(int(line.split()[1]) for line in table_of(self.slabinfo())[1:]), 1101)
        self.assertEqual(row_of(totals, "#Objects")[-1], "1.1K")
        self.assertEqual(row_of(self.slabinfo("--totals", "entry"), "#Objects")[-1], "500")
        self.assertEqual(self.slabinfo("-T", "^empty$"), "No objects\n")

    def test_report_shows_sizes_and_counters(self):
        Server(self)
        self.has(self.slabinfo("-r", "pblock"), "Slabcache: pblock           Order : ", "** Hardware cacheline aligned",
                 "Sizes (bytes)     Slabs              Debug                Memory", "Object :     200  Total  : ",
                 "Sanity Checks : Off", "Slab Perf Counter       Alloc     Free %Al %Fr")

    def test_nodes_are_shown_where_there_are_several(self):
        self.set_environment(SLAB_FAKE_NODES="2")
        Server(self)
        self.assertIn("NUMA nodes           :    0    1", self.slabinfo("-r", "entry"))

    def test_shrink_and_validate(self):
        Server(self)
        self.assertRegex(self.slabinfo("-s", "entry"), "entry .* given back\n")
        self.assertIn("pblock                no problems found\n", self.slabinfo("--validate"))

    def test_json_is_the_whole_document(self):
        Server(self)
        for words, count in ((["--json"], 4), (["--json", "pblock"], 1)):
            self.assertEqual(len(json.loads(self.slabinfo(*words))["caches"]), count)

    def test_no_process(self):
        self.refused([], "no process has slab caches")
        self.slabinfo("--list", status=2)
        self.slabinfo("--list", "--json", status=2)
        self.refused(["--process", "nobody"],
                     'no process called "nobody" has slab caches; --list shows those that do')
        self.refused(["-p", "2147483647"], "there is no process 2147483647")
        self.assertIn("has no slab caches", self.slabinfo("--pid", str(os.getpid()), status=2))

    def test_the_only_one_without_a_socket_is_chosen(self):
        """The process that answers is chosen, where there is one."""
        self.set_environment(SLAB_CONTROL="off")
        server = Server(self)
        self.assertEqual(row_of(self.slabinfo("-l"), "entry")[1], "500")
        other = Server(self)
        self.has(self.slabinfo(status=2), "several processes have slab caches; choose one with --pid\n", str(server.pid),
                 str(other.pid))
        del os.environ["SLAB_CONTROL"]
        asked = Server(self)
        self.assertIn(str(asked.pid), self.slabinfo("nobody", status=1))

    def test_one_of_several_is_chosen(self):
        first, second = Server(self), Server(self)
        pid = str(second.pid)
        self.has(self.slabinfo(status=2), "slabinfo: several processes have slab caches; choose one with --pid\n",
                 f"{first.pid}  control_server   socket\n")
        self.slabinfo("--pid", pid)
        self.slabinfo("-p" + pid)
        self.assertIn(f'"pid": {pid}', self.slabinfo("--json", "-p", pid))
        self.slabinfo("--process", "control_server", status=2)
        self.assertEqual(self.slabinfo("--list").count("\n"), 3)
        self.assertEqual(first.finish(), (0, ""))
        self.slabinfo("--process", "control_server")
        self.slabinfo()

    def test_damage_is_an_exit_status(self):
        Impostor(self, lambda *_: '{"slab":2,"ok":true,"problems":2,"caches":[{"name":"entry"}]}\n')
        self.assertEqual(self.slabinfo("-v", status=1),
                         "entry                        2 problems found; the process has reported them\n")

    def test_strange_answers_are_refused(self):
        for answer in ("", "\n", "hello\n", "{}", "[1,2", "7\n", '{"ok":true}', '{"ok":true,"caches":7}', '{"ok":false}'):
            impostor = Impostor(self, lambda *_, answer=answer: answer)
            self.assertEqual(self.slabinfo("-z", status=2).count("\n"), 1)
            impostor.end()
        Impostor(self, lambda *_: '{"ok":true,"caches":[7,{},{"name":7}]}')
        for option in ("-z", "-r", "-T"):
            self.slabinfo(option)


class Debug(Case):
    """Debug flags under load, sampling, fault injection."""

    def start(self, mode="plain"):
        self.server = Server(self, mode=mode)
        self.name = f"{self.server.pid} (control_server)"

    def test_debug_sets_exactly_these_debug_flags(self):
        self.start()
        on = self.slabinfo("-da", "entry")
        self.assertIn("entry                 debug flags: none -> FZPU; ", on)
        self.assertTrue(on.endswith(" older slabs keep the old layout until their objects are freed\n"
                                    "1 cache changed, 0 already had FZPU\n"), on)
        self.assertIn("entry                 debug flags: FZPU -> ZT; ", self.slabinfo("--debug=zT", "entry"))
        self.assertIn("entry                 debug flags: ZT -> none", self.slabinfo("-d", "entry"))
        self.assertTrue(self.slabinfo("-da", "nobody", status=1).endswith('matches "nobody"\n'))

    def test_every_debug_flag_has_its_meaning(self):
        self.start()
        for letters, flags in (("f", "F"), ("F", "F"), ("z", "Z"), ("p", "P"), ("u", "U"), ("t", "T"), ("A", "A"),
                               ("a", "FZPU"), ("ta", "FZPUT"), ("fzput", "FZPUT"), ("aaA", "FZPUA")):
            self.slabinfo("-d", "entry")
            self.assertTrue(line_with(self.slabinfo("-d" + letters, "entry"), "->").split()[5].startswith(flags), letters)
            self.assertIn(f'"debug_flags": "{flags}"', self.slabinfo("--json", "entry"))

    def test_without_a_regexp_all_caches_are_changed_and_counted(self):
        self.start()
        self.assertTrue(self.slabinfo("-dz").endswith("4 caches changed, 0 already had Z\n"))
        self.assertEqual(self.slabinfo("-dz"), "0 caches changed, 4 already had Z\n")
        self.assertEqual(row_of(self.slabinfo(), "pblock")[-1], "AZ")
        self.assertTrue(self.slabinfo("-d").endswith("4 caches changed, 0 already had none\n"))
        self.assertEqual(row_of(self.slabinfo(), "pblock")[-1], "A")

    def test_debug_flags_behind_a_blank_are_refused(self):
        """ "-d u" switches debug flags off, of the caches with a u in their names."""
        self.start()
        self.slabinfo("-dz", "entry")
        for flags in ("f", "t", "FZP", "za"):
            self.refused(["-d", flags], f'no cache is called "{flags}"; flags follow -d without a blank: -d{flags}')
        self.assertEqual(row_of(self.slabinfo(), "entry")[-1], "Z")
        self.slabinfo("-du", "t")  # a cache has a t in its name

    def test_a_cache_may_be_named_like_a_debug_flag(self):
        Impostor(self, lambda *_: '{"slab":2,"ok":true,"caches":[{"name":"u"},{"name":"z"}],'
                                  '"before":"U","after":"-","legacy_slabs":0}\n')
        for name, status in (("u", 0), ("z", 0), ("t", 2)):
            self.slabinfo("-d", name, status=status)

    def test_numbers_behind_a_blank_are_hinted_at(self):
        self.start()
        self.assertIn('matches "4711"; a mark follows with an equals sign: --since-mark=4711\n',
                      self.slabinfo("--since-mark", "4711", status=1))
        self.assertIn('matches "2.5"; seconds follow --top with an equals sign: --top=2.5\n',
                      self.slabinfo("--top", "2.5", status=1))

    def entry(self):
        return cache_of(json.loads(self.slabinfo("--json")), "entry")

    def test_sizes_are_those_of_the_layout_with_debug_flags(self):
        """Numbers are those of the slabs that the debug flags make."""
        self.start()
        self.assertEqual(self.entry()["slab_size"], 712)
        self.slabinfo("-da", "entry")
        self.server.do_task("l")
        entry = self.entry()
        objects = entry["objects_per_slab"]
        self.assertEqual((entry["object_size"], entry["slab_size"]), (712, 728))  # 8 bytes of red zone on each side
        self.assertEqual(objects, (4096 << entry["order"]) // 728)
        rows = [row for row in self.look(self.server.pid, "slabs entry")["slabs"] if row[4] == "debug"]
        self.assertEqual({row[3] for row in rows}, {objects})
        self.has(self.slabinfo("-r", "entry"), "\nSlabObj:     728 ", "\nLoss   :      16 ")
        self.assertEqual(row_of(self.slabinfo("-l"), "entry")[5], str(objects))
        self.slabinfo("-d", "entry")
        entry = self.entry()
        self.assertEqual(entry["slab_size"], 712)
        self.assertEqual(row_of(self.slabinfo("-l"), "entry")[5], str((4096 << entry["order"]) // 712))

    def test_debug_flags_change_under_load_and_validate_is_clean(self):
        """The server checks that no object is handed out twice, and aborts."""
        self.start("load")
        for option in ("-da", "-dz", "-dfu", "-d", "-df", "-da", "-d", "-du", "-da"):
            self.slabinfo(option, "entry|pblock")
            time.sleep(0.05)
            self.assertIn("entry                 no problems found\n", self.slabinfo("-v"))
        self.slabinfo("-d")
        self.slabinfo("-v")
        self.assertEqual(self.server.finish(), (0, ""))

    def test_validate_counts_the_problems(self):
        self.start()
        self.slabinfo("-dz", "entry")
        self.server.do_task("l")
        self.server.do_task("o")
        self.has(self.slabinfo("-v", status=1), "pblock                no problems found\n",
                 "entry                        1 problem found; the process has reported it\n")
        self.slabinfo("-v")

    def test_report_shows_debug_flags_errors_and_slabs(self):
        self.start()
        self.assertIn("\nProblems found: 0   Debug slabs: 0   Legacy slabs: 0   Sampled: Off\n", self.slabinfo("entry"))
        self.slabinfo("-dzu", "entry")
        self.slabinfo("--sample=500", "entry")
        self.server.do_task("l")
        self.server.do_task("o")
        self.slabinfo("-v", status=1)
        report = self.slabinfo("-r", "entry")
        self.has(report, "Redzoning     :  On", "Tracking      :  On", "Poisoning     : Off")
        self.assertRegex(report, r"\nProblems found: 1 +Debug slabs: [1-9]\d* +Legacy slabs: [1-9]\d* +Sampled: one in 500\n")

    def test_sample_sets_the_interval(self):
        self.start()
        self.assertEqual(self.slabinfo("--sample=1000", "entry|pblock"),
                         "entry                 sampling off -> one in 1000\n"
                         "pblock                sampling off -> one in 1000\n")
        self.assertEqual(self.slabinfo("--sample", "0", "entry"), "entry                 sampling one in 1000 -> off\n")
        self.assertIn('"sample": 1000', self.slabinfo("--json", "pblock"))

    def test_fail_makes_allocations_fail(self):
        self.start()
        self.assertEqual(self.slabinfo("--fail=cache=entry,interval=2"),
                         f"Allocations fail in process {self.name}: cache=entry,interval=2; --fail=- ends that\n")
        self.assertEqual(self.server.do_task("c"), "5 failed")
        self.slabinfo("--fail=cache=ent*,times=4")
        self.assertEqual(self.server.do_task("c"), "4 failed")
        self.assertEqual(self.slabinfo("--fail=-"), f"No allocations fail in process {self.name} any more\n")
        self.assertEqual(self.server.do_task("c"), "0 failed")
        self.assertIn('"sometimes" says no failures; accepted: ', self.slabinfo("--fail=sometimes", status=2))

    def test_values_are_one_line(self):
        self.start()
        for end in ("\n", "\r", "\nfoo", "\r\n"):
            fail = self.slabinfo("--fail", "interval=1" + end, status=2)
            self.assertIn("control character", fail)
            self.assertEqual(len(fail.splitlines()), 1)
            ran = self.run_slabinfo("--set", f"entry{end}.limit=1000000")
            self.assertEqual((ran.returncode > 0, ran.stdout, len(ran.stderr.splitlines())), (True, "", 1))
            self.slabinfo("--set", "entry.limit=1000000" + end, status=2)
        self.assertEqual(self.server.do_task("c"), "0 failed")

    def test_strange_answers_do_no_harm(self):
        for answer in (
                '{"ok":true,"caches":[7,{},{"name":7,"flags":8,"debug_flags":{}}]}',
                '{"ok":true,"process":{"now":9,"mark":1},"caches":[{"name":"a","flags":8}],"legacy_slabs":[7,{}],'
                '"traces":[7,{},{"name":"b"},{"name":"a","tracked":true,"sites":[7,{},{"stack":7,"waste":1},'
                '{"count":1,"stack":[7,{},{"file":7}]}]}]}',
                '{"ok":true,"process":7,"caches":[{"name":"a","flags":8}],"legacy_slabs":{},'
                '"traces":[{"name":"a","tracked":7,"sites":{}}]}'):
            impostor = Impostor(self, lambda *_, answer=answer: answer)
            for words in (["-z", "-t"], ["-z", "-t", "--json"], ["--since-mark=1"], ["--mark"], ["-da"], ["--sample=1"],
                          ["--fail=-"], ["-r"]):
                self.assertGreaterEqual(self.run_slabinfo(*words).returncode, 0, [words, answer])
            impostor.end()


class Tracking(Case):
    """Call sites of allocations and frees, leaks since a mark, waste."""

    def start(self, flags="", mode="plain"):
        """With the task that leaks 100 entries, if there are debug flags."""
        self.server = Server(self, mode=mode)
        self.name = f"{self.server.pid} (control_server)"
        if flags:
            self.slabinfo("-d" + flags, "entry")
            self.server.do_task("l")

    def test_names_call_sites_of_allocations_and_frees(self):
        self.start("u")
        allocated = self.slabinfo("-t", "entry")
        site = line_with(allocated, "leak_entries")
        self.assertEqual(allocated.splitlines()[0],
                         "entry: allocated objects by call site (100 of 600; older ones are not tracked)")
        self.assertTrue(site.startswith("    100 leak_entries+0x"), site)
        self.has(site, " (control_server.c:", " age=", f" pid={self.server.pid} cpus=", " nodes=0")
        self.assertNotIn("waste=", site)
        self.has(allocated, "\n        ", "main+0x")  # the callers of that
        self.server.do_task("f")
        self.assertIn(" (control_server.c:", line_with(self.slabinfo("--tracking", "entry"), "free_entries"))

    def test_without_data_it_shows_how_to_get_some(self):
        """With the debug flags it has."""
        self.start()
        advice = f"entry: No data: debug flag U is not set. To set it:\n    slabinfo -p {self.server.pid}"
        self.assertEqual(self.slabinfo("-t", "entry"), advice + " -du '^entry$'\n\n")
        self.slabinfo("-dzf", "entry")
        self.assertEqual(self.slabinfo("-t", "entry"), advice + " -dfzu '^entry$'\n\n")
        self.slabinfo("-du", "entry")
        self.assertEqual(self.slabinfo("-t", "entry"), "entry: No data: no allocation since debug flag U was set\n\n")

    def test_lines_limits_call_sites_and_rows(self):
        self.start("u")
        self.server.do_task("k")
        one = self.slabinfo("-t", "-N", "1", "entry")
        self.has(one, "leak_entries", "and 1 more call site\n")
        self.assertNotIn("keep_one", one)
        self.assertIn("keep_one", self.slabinfo("-t", "-N2", "entry"))
        self.assertEqual(len(table_of(self.slabinfo("-l", "--lines=2"))), 3)

    def test_json_has_symbols(self):
        self.start("u")
        answers = json.loads(self.slabinfo("-t", "--json", "entry"))
        self.assertEqual(len(answers), 2)
        self.assertTrue(answers[0]["sites"][0]["stack"][0]["symbol"].startswith("leak_entries+"))

    def test_advice_means_this_cache_whatever_its_name(self):
        """A shell reads the command in the advice, and slabinfo a regular expression in it."""
        process = Impostor(self, lambda *_: '{"slab":2,"ok":true,"caches":[{"name":"(a.b)|c\'*$"}]}\n')
        pattern = r"'^\(a\.b\)\|c'\''\*\$$'"
        self.assertIn(f"slabinfo -p {process.pid} -du {pattern}\n", self.slabinfo("-t"))
        self.assertIn(f"slabinfo -dfzpu {pattern}\n", self.slabinfo("--set", "(a.b)|c'*$.debug=1", status=2))
        self.slabinfo("-l", r"^\(a\.b\)\|c'\*\$$")

    def test_waste_and_ranges_stand_as_in_the_kernels_tool(self):
        Impostor(self, lambda *_: json.dumps({
            "slab": 2, "ok": True, "caches": [{"name": "slab-32", "slabs": 1, "object_size": 32, "objects": 12}],
            "traces": [{"name": "slab-32", "tracked": True, "sites": [{
                "count": 12, "waste": 168, "age_min": 950, "age_avg": 12345, "age_max": 190000000, "tid_min": 7, "tid_max": 9,
                "cpus": "0,2-3", "nodes": "0-1",
                "stack": [{"address": 4660}, {"address": 4661, "file": "/no/such.so", "offset": 255}]}]}]}) + "\n")
        self.assertEqual(self.slabinfo("-t").splitlines()[:3], [
            "slab-32: allocated objects by call site",
            "     12 0x1234 waste=168/14 age=950ms/12.3s/2d04h pid=7-9 cpus=0,2-3 nodes=0-1",
            "        such.so+0xff"])

    def test_a_leak_since_the_mark_is_found_with_function_and_line(self):
        self.start(mode="load")
        self.slabinfo("-du", "entry")
        self.has(self.slabinfo("--mark"), f" is set in process {self.name}.\n", "in the 1 cache with debug flag U.\n")
        self.server.do_task("l")
        time.sleep(2)
        leak = self.slabinfo("--since-mark")
        self.assertTrue(leak.startswith("Process " + self.name), leak)
        self.has(leak, "iB in all allocated since then and not freed: ",
                 "Objects    Bytes  Objects/min  Bytes/min   Oldest  Youngest  Cache\n")
        row = re.search(r"\n *(.*)\n +leak_entries\+0x.* \(control_server\.c:", leak)[1].split()
        self.assertEqual((len(row), row[0], row[1], row[6]), (7, "100", "69.5KiB", "entry"))
        self.assertGreater(float(re.match("[0-9.]+", row[2])[0]), 0)
        self.assertGreaterEqual(float(re.match("[0-9.]+", row[4])[0]), 2)  # seconds since the oldest

    def test_what_is_freed_again_is_no_leak(self):
        self.start()
        self.slabinfo("-du")
        self.slabinfo("--mark")
        for task in "lfp":
            self.server.do_task(task)
        self.assertIn("Whatever was allocated since then is freed again.\n", self.slabinfo("--since-mark"))

    def test_leaks_come_with_the_most_objects_first(self):
        self.start()
        self.slabinfo("-du")
        self.slabinfo("--mark")
        self.server.do_task("k")
        self.server.do_task("l")
        self.assertRegex(self.slabinfo("--since-mark"), "(?s)leak_entries.*keep_one")
        one = self.slabinfo("--since-mark", "-N1")
        self.assertNotIn("keep_one", one)
        self.assertIn("      1 more of 1 other call site; -N 2 shows all\n", one)

    def test_a_mark_may_be_given_by_its_number(self):
        self.start()
        self.slabinfo("-du", "entry")
        first = self.slabinfo("--mark").split()[1]
        self.server.do_task("l")
        self.slabinfo("--mark")
        self.assertNotIn("leak_entries", self.slabinfo("--since-mark"))
        self.assertIn("leak_entries", self.slabinfo("--since-mark=" + first))
        self.assertIn("leak_entries+0x", self.slabinfo("--since-mark=" + first, "--json"))

    def test_without_a_mark_or_tracking_there_is_no_leak_report(self):
        self.start()
        self.refused(["--since-mark"], f"process {self.name} has no mark yet; --mark sets one", 1)
        self.assertIn("No cache tracks its users yet, so nothing will be known.", self.slabinfo("--mark"))
        self.refused(["--since-mark", "entry"],
                     f'no cache that matches "entry" tracks its users; slabinfo -p {self.server.pid} -du REGEXP switches that '
                     "on, and a mark after that is the first that helps", 1)
        self.assertIn(f"slabinfo: 99999999999999 is no mark of process {self.server.pid}",
                      self.slabinfo("--since-mark=99999999999999", status=1))

    def test_waste_is_that_of_caches_until_call_sites_are_known(self):
        self.start()
        caches = self.slabinfo("--waste")
        self.assertTrue(caches.startswith(f"Slabs of process {self.name} have "), caches)
        self.assertIn("     500     712 ", line_with(caches, "entry "))
        self.assertIn(f" is not recorded; slabinfo -p {self.server.pid} -du REGEXP", caches)
        self.assertNotIn("Each  Cache", caches)
        self.slabinfo("-du", "entry")
        self.server.do_task("l")
        sites = self.slabinfo("--waste", "^entry$")
        self.has(sites, "      100 ", "  entry\n        leak_entries+0x")
        self.assertNotIn("pblock", sites)

    def test_waste_is_drawn_by_call_site(self):
        self.start()
        self.assertIn("no cache of process ", self.slabinfo("--waste", "--flame=-", status=1))
        self.slabinfo("-du", "entry")
        self.server.do_task("l")
        self.has(self.slabinfo("--waste", "--flame=-"), "<title>leak_entries: ", "Free memory that objects of process ")

    def test_samples_are_charged_with_the_waste_of_their_cache(self):
        """As many as are sampled."""
        self.start()
        self.slabinfo("--profile=1")
        self.server.do_task("l")
        self.has(self.slabinfo("--waste"), "  entry, by the heap profile\n        leak_entries+0x", "      100 ")


class Tune(Case):
    """--set, --reset and --trim."""

    def setUp(self):
        super().setUp()
        self.server = Server(self)
        self.name = f"{self.server.pid} (control_server)"

    def test_sets(self):
        self.assertEqual(self.slabinfo("--set", "entry.min_partial=10"), "entry                 min_partial 2 -> 10\n")

    def test_takes_limits_in_powers_of_1024(self):
        before = 0
        for text, limit in (("64M", 64 << 20), ("1g", 1 << 30), ("512K", 512 << 10), ("1MiB", 1 << 20), ("64kib", 64 << 10),
                            ("0", 0)):
            self.assertEqual(self.slabinfo("--set=entry.limit=" + text), f"entry                 limit {before} -> {limit}\n")
            before = limit

    def test_each_wrong_setting_has_its_message(self):
        for setting in ("entry", "entry=5", ".limit=5", "entry.limit=", "entry. limit=5"):
            self.refused(["--set", setting], f'"{setting}" does not say what to set; --set takes CACHE.ATTRIBUTE=VALUE')
        for attribute, value in (("limit", "64X"), ("limit", "9999999999G"), ("min_partial", "1X"), ("limit", "1iB")):
            self.refused(["--set", f"entry.{attribute}={value}"],
                         f'"{value}" is not a value for {attribute}; --set takes a number, also in K, M, G, '
                         "KiB, MiB or GiB")
        for setting, error in (
                ("entry.debug=FZPU", "debug flags are set with -d: slabinfo -dfzpu '^entry$'"),
                ("entry.objects=1", f"process {self.name}: objects can only be read; what can be set: min_partial, limit, "
                                    "sample, remote_node_defrag_ratio, and events, to 0"),
                ("entry.min_partial=99999",
                 f'process {self.name}: min_partial cannot be "99999"; accepted: 0 to 65535 slabs')):
            self.refused(["--set", setting], error)

    def test_sets_no_cache_that_is_not_there(self):
        """The last dot counts: names of caches may have some."""
        self.refused(["--set", "nobody.limit=5"], f'no cache of process {self.name} is called "nobody"', 1)
        self.assertIn('is called "a.b=c"', self.slabinfo("--set", "a.b=c.limit=5", status=1))

    def test_sets_and_clears_events(self):
        self.assertEqual(self.slabinfo("--set", "first.min_partial=7"), "first                 min_partial 2 -> 7\n")
        self.assertIn(" -> 0\n", self.slabinfo("--set", "entry.alloc_slab=0"))

    def test_resets(self):
        self.assertEqual(self.slabinfo("--reset", "^entry"), "1 cache is counting events from 0 again\n")
        self.assertEqual(self.slabinfo("--reset"), "4 caches are counting events from 0 again\n")
        self.assertEqual(cache_of(json.loads(self.slabinfo("--json")), "pblock")["events"]["alloc_slab"], 0)
        self.assertEqual(self.run_slabinfo("--reset", "nobody").stdout, "")
        self.slabinfo("--reset", "nobody", status=1)

    def test_trims(self):
        self.slabinfo("--trim")
        self.assertEqual(self.slabinfo("--trim"), f"Process {self.name} released 0 slabs\n")


unittest.main()
