# SPDX-License-Identifier: MIT
"""The views of slabinfo, byte by byte: what each option prints (golden/views.txt) of a process that always answers the same
(golden/stats.json). Processes with one node, no caches, or an older library. Options that do not go together, and the help.

usage: views_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import json
import os
import unittest
from pathlib import Path

from processes import SOURCE, Case, Impostor, Server, cache_of, read, table_of

GOLDEN = SOURCE / "tests/tools/golden"
ANSWERS = {"shrink": '"slabs":3', "validate": '"problems":0', "debug": '"before":"-","after":"F","legacy_slabs":0',
           "sample": '"before":0,"after":5', "traces": '"traces":[{"name":"tracked","tracked":true,"sites":[]}]', "slabs": '"slabs":[]',
           "reset": '"done":true'}


class Constant(Case):
    """A process that answers each kind of request with one text, and notes the requests."""

    def start(self, stats):
        heard = Path(self.folder, "heard")
        heard.write_text("", encoding="utf-8")

        def answer(request, _):
            with heard.open("a", encoding="utf-8") as file:
                file.write(request + "\n")
            if request.endswith(" lost"):
                return '{"slab":2,"ok":false,"error":"no cache is called \\"lost\\""}\n'
            members = ANSWERS.get(request.partition(" ")[0])
            return f'{{"slab":2,"ok":true,{members}}}\n' if members else stats

        self.heard, self.process = heard, Impostor(self, answer)

    def start_with(self, *caches, **process):
        self.start(json.dumps({"slab": 2, "ok": True, "process": process, "caches": caches}) + "\n")

    def requests(self):
        """Those since the last call, without "stats" and "ping"."""
        lines = read(self.heard).splitlines()
        self.heard.write_text("", encoding="utf-8")
        return [line for line in lines if line not in ("stats", "ping")]


class Views(Constant):
    def setUp(self):
        super().setUp()
        self.stats = read(GOLDEN / "stats.json")
        self.start(self.stats.replace("\n", " ") + "\n")

    def names(self, words):
        """In the first column, without the header, and what is below the table."""
        return " ".join(line.split()[0] for line in table_of(self.slabinfo(*words.split()))[1:])

    def json(self, words):
        return json.loads(self.slabinfo("--json", *words.split()))

    def test_prints_what_it_always_printed(self):
        """golden/views.txt has "$ slabinfo OPTIONS", and what that prints."""
        views = [view.partition("\n") for view in ("\n" + read(GOLDEN / "views.txt")).split("\n$ slabinfo")[1:]]
        got = [(words, self.slabinfo(*words.split())) for words, _, _ in views]
        if os.environ.get("GOLDEN_WRITE"):
            text = "".join(f"$ slabinfo{words}\n{printed}" for words, printed in got)
            (GOLDEN / "views.txt").write_text(text, encoding="utf-8")
        for (words, printed), (_, _, text) in zip(got, views):
            self.assertEqual(printed.rstrip("\n"), text.rstrip("\n"), words)

    def test_json_is_the_answer_in_the_tools_order(self):
        document, answer = self.json(""), json.loads(self.stats)
        names = [cache["name"] for cache in document["caches"]]
        self.assertEqual((len(names), names[0], names[-1]), (7, "attribute", "tracked"))
        self.assertEqual(cache_of(document, "entry"), cache_of(answer, "entry"))
        self.assertEqual(document["process"], answer["process"])

    def test_json_of_a_view_has_the_caches_of_the_view(self):
        for words, count in (("-l", 6), ("-l -z", 7), ("-e", 1), ("-r entry|pblock", 2), ("-n", 6), ("-S -N2", 2), ("-T", 7),
                             ("-U", 6), ("^backend", 1), ("-X -N2", 7)):
            self.assertEqual(len(self.json(words)["caches"]), count, words)

    def test_json_of_totals_has_the_sums(self):
        document = self.json("-T")
        totals = document["totals"]
        self.assertEqual((totals["caches"], totals["active"]), (7, 6))
        self.assertEqual(totals["per_cache"]["objects"]["total"], 8112100)
        self.assertEqual(totals["per_cache"]["objects"]["max"], 8100000)
        self.assertEqual(totals["per_object"]["user_bytes"]["min"], 32)
        self.assertNotIn("by_size", document)

    def test_json_of_extended_totals_names_the_first(self):
        self.assertEqual(self.json("-X -N2")["by_size"], ["attribute", "entry"])
        document = self.json("-X")
        self.assertEqual((len(document["by_loss"]), len(document["by_partial"])), (1, 1))

    def test_json_lists_processes(self):
        self.assertEqual([process["pid"] for process in self.json("--list")["processes"]], [self.process.pid])

    def test_below_the_table_stands_where_the_memory_went(self):
        self.assertEqual(self.slabinfo("-B").splitlines()[-1], "Memory 291561472: slabs 270000128, free slabs 131072, "
                                                               "large 20971520, heads+maps 327680, arrays 131072")
        self.assertEqual(self.slabinfo("-l").splitlines()[-1], self.slabinfo("-L", "-N1").splitlines()[-1])

    def test_chosen_caches_and_other_columns_have_no_such_line(self):
        self.assertNotIn("Memory", self.slabinfo("entry|pblock") + self.slabinfo("-D"))

    def test_a_report_has_no_rows_of_nothing(self):
        self.assertNotRegex(self.slabinfo("-r"), "(?m)^[A-Za-z ]+( +-)+$")

    def test_names_are_ordered_without_regard_to_case(self):
        self.assertEqual(self.names("-l"), "attribute backend cache entry Pblock tracked")
        self.assertEqual(self.names("-i"), "tracked Pblock entry cache backend attribute")

    def test_orders_put_the_most_first(self):
        self.assertEqual(self.names("-S"), "attribute entry cache backend Pblock tracked")
        self.assertEqual(self.names("-L"), "cache attribute entry tracked Pblock backend")
        self.assertEqual(self.names("-P"), "attribute entry cache backend Pblock tracked")
        self.assertEqual(self.names("-A"), "attribute entry Pblock tracked backend cache")
        self.assertEqual(self.names("--Size"), self.names("--size"))

    def test_an_order_can_be_inverted_and_cut(self):
        self.assertEqual(self.names("-S -i -N 2"), "tracked Pblock")
        self.assertEqual(self.names("-P --lines=1"), "attribute")
        self.assertEqual(len(self.names("-N100").split()), 6)

    def test_lines_are_counted_after_empty_caches_are_left_out(self):
        self.assertEqual(self.names("-S -i -N1"), "tracked")
        self.assertEqual(self.names("-S -i -N1 -z"), "idle")

    def test_reclaimable_caches_can_be_left_out(self):
        self.assertEqual(self.names("-U"), "attribute backend entry Pblock tracked")
        self.assertIn("Slabcaches :               6 ", self.slabinfo("-T", "--Unreclaim"))

    def test_a_pattern_matches_a_part_of_a_name_in_any_case(self):
        self.assertEqual(self.names("-l BACK"), "backend")
        self.assertEqual(self.names("-l ^(attribute|entry)$"), "attribute entry")

    def test_one_match_is_reported_unless_the_table_is_asked_for(self):
        self.assertEqual(self.slabinfo("entry"), self.slabinfo("-r", "^entry$"))
        self.assertEqual(self.slabinfo("ENTR"), self.slabinfo("-r", "entry"))
        self.assertEqual(self.names("-l entry"), "entry")
        self.assertEqual(self.names("-D entry"), "entry")
        self.assertEqual(self.names("-e entry"), "")
        self.assertEqual(self.names("-e idle"), "idle")

    def test_tracked_caches_have_their_call_sites_in_the_report(self):
        self.assertIn("tracked: allocated objects by call site", self.slabinfo("-r", "tracked"))
        self.assertNotIn("call site", self.slabinfo("-r", "entry"))

    def test_actions_are_for_the_caches_that_are_chosen(self):
        for words, requests in (("-s -S -N2", ["shrink attribute", "shrink entry"]),
                                ("-v entry|pblock", ["validate entry", "validate Pblock"]),
                                ("-df -L -N1", ["debug F cache of pages"]), ("-s -e", ["shrink idle"]),
                                ("--sample=5 -U -i -N1", ["sample 5 tracked"])):
            self.slabinfo(*words.split())
            self.assertEqual(self.requests(), requests)
        self.slabinfo("-v")
        self.assertEqual(len(self.requests()), 7)


class Others(Constant):
    def test_a_process_that_is_only_read_has_one_error_message(self):
        pid = str(Server(self).pid)
        for action in ("-s", "-d", "--sample=1", "--mark", "--reset", "--trim"):
            self.refused(["--memory", "-p", pid, action],
                         f"process {pid} (control_server) is read from its memory; it cannot be changed that way")

    def test_one_node_has_no_columns(self):
        self.start_with({"name": "a", "slabs": 1, "nodes": [{"slabs": 1}]}, nodes=1)
        self.assertEqual(self.slabinfo("-n"), "No NUMA information available.\n")
        self.assertNotIn("NUMA", self.slabinfo("-r"))

    def test_what_is_more_than_all_has_no_percentage(self):
        """Slabs are put on lists by more than frees."""
        self.start_with({"name": "a", "counted": 1000, "counted_us": 5000,
                         "events": {"free_slowpath": 4, "free_flush": 9, "free_slab": 1}})
        self.has(self.slabinfo("-r"), "\nRefill/Flush                0        9   0   -\n",
                 "\nPage Alloc                  0        1   0  25\n", "(1000 counted in 5.0 ms)\n")

    def test_memory_that_comes_back_is_reported(self):
        self.start_with({"name": "a", "rcu_pending": 12, "rcu_freed": 4000, "rcu_helped": 3, "limit_hits": 7, "reserve": 8,
                         "reserve_left": 6, "reclaims": 2, "reclaimed": 300, "moved": 90})
        self.assertIn("\nMemory\n"
                      "--------------------------------------------------\n"
                      "Grace periods        4000 objects have waited for one, 12 wait\n"
                      "Held up                 3 frees, because too much waited\n"
                      "Limit                   7 allocations failed because of a limit\n"
                      "Reserve                 8 objects, of which 6 are there\n"
                      "Reclaim               300 objects given up, in 2 calls\n"
                      "Moved                  90 objects to denser slabs\n", self.slabinfo("-r"))

    def test_caches_without_such_memory_are_silent_about_it(self):
        self.start_with({"name": "a"})
        self.assertNotIn("\nMemory\n----", self.slabinfo("-r"))

    def test_numbers_that_an_older_library_does_not_send_are_zero(self):
        self.start_with({"name": "a"})
        self.slabinfo("-X")
        self.assertEqual(self.slabinfo("-D", "-z"), "Name                   Objects      Alloc       Free\n"
                                                    "a                            0          0          0\n")
        report = self.slabinfo("-r")
        self.assertIn("Limit: Off\n", report)
        self.assertNotIn("in a second", report)

    def test_the_name_of_a_cache_means_it_alone(self):
        self.start_with({"name": "size-64", "slabs": 1}, {"name": "size-640", "slabs": 1})
        for view in ("-l", "-r", "-D", "--json", "--openmetrics"):
            text = self.slabinfo(view, "size-64")
            self.assertIn("size-64", text)
            self.assertNotIn("size-640", text)
        self.assertIn("size-640", self.slabinfo("-l", "SIZE-64"))

    def test_actions_on_the_name_of_a_cache_change_it_alone(self):
        self.start_with({"name": "size-64", "slabs": 1}, {"name": "size-640", "slabs": 1})
        for action in ("-da", "-s", "-v", "--sample=100", "--reset"):
            self.run_slabinfo(action, "size-64")
            self.assertEqual([request.split()[-1] for request in self.requests()], ["size-64"], action)

    def test_a_cache_that_was_destroyed_meanwhile_is_left_out(self):
        self.start_with({"name": "lost", "flags": 8, "slabs": 1}, {"name": "kept", "flags": 8, "slabs": 1}, lost=True)
        for words in ("-da", "-s", "-v", "-t", "--sample=100", "--reset", "--map=map.svg"):
            ran = self.run_slabinfo(words)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), words)

    def test_no_caches_are_no_error(self):
        self.start_with()
        for view in ("-l", "-T", "-X", "-n", "-r", "-D", "--json"):
            ran = self.run_slabinfo(view)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), view)
        self.assertEqual(self.slabinfo("-T"), "No objects\n")


class Usage(Case):
    def test_options_that_do_not_go_together(self):
        """There is no process: wrong options are reported before slabinfo looks for one."""
        for words, first, second in (
                ("-T -X", "-T", "-X"), ("-l --top", "-l", "--top"), ("-s -v", "-s", "-v"), ("-s --json", "-s", "--json"),
                ("--top --json", "--top", "--json"), ("--core=c -p 1", "--core", "--pid"),
                ("--core=c --process=a", "--core", "--process"), ("--core=c --memory", "--core", "--memory"),
                ("-p1 --process=a", "--pid", "--process"), ("-p 1 --process a", "--pid", "--process"),
                ("--pprof=a --flame=b", "--pprof", "--flame"), ("--pprof=a --json", "--pprof", "--json"),
                ("--pprof=a --waste", "--pprof", "--waste"), ("--profile=peak --waste", "--profile=peak", "--waste"),
                ("--profile=peak --top", "--top", "--profile=peak"),
                ("--profile=lifetimes --flame=a.svg", "--profile=lifetimes", "--flame"), ("-T -r", "-T", "-r"),
                ("-da -T", "-d", "-T"), ("-da -v", "-d", "-v"), ("-v --json", "-v", "--json"),
                ("--mark --since-mark", "--mark", "--since-mark")):
            self.refused(words.split(), f"{first} and {second} cannot be combined; give one of them")

    def test_what_is_for_the_whole_process_takes_no_pattern(self):
        for words in ("--trim", "--flame=a.svg", "--fail=-", "--mark"):
            self.refused([words, "entry"], f'{words.partition("=")[0]} is for the whole process; it takes no regular expression '
                                           '"entry"')

    def test_options_that_there_are_not_and_values(self):
        for words, error in (
                ("-Q", "there is no option -Q"), ("--json -QT", "there is no option -Q"), ("-:", "there is no option -:"),
                ("--frobnicate", "there is no option --frobnicate, or more than one that begins so"),
                ("--slabs=1", "--slabs takes no value"), ("--trim=1", "--trim takes no value"), ("-p", "-p needs a value"),
                ("--pid", "--pid needs a value"), ("--pprof", "--pprof needs a value"), ("--sample", "--sample needs a value"),
                ("--fail", "--fail needs a value")):
            self.refused(words.split(), error + "; --help shows the options")

    def test_each_wrong_value_has_its_message(self):
        letters = "-d takes f z p u t, a for f z p u, A for fault injection, and nothing for off"
        for words, error in (
                ("-L -S", "-A, -L, -P and -S are mutually exclusive; give one of them"),
                ("-N 0", '"0" is not a number of lines; -N takes a number from 1 on'),
                ("-N 1x", '"1x" is not a number of lines; -N takes a number from 1 on'),
                ("-N x", '"x" is not a number of lines; -N takes a number from 1 on'),
                ("--top=0", '"0" is not an interval; accepted are 0.01 to 86400 seconds'),
                ("--top=nan", '"nan" is not an interval; accepted are 0.01 to 86400 seconds'),
                ("-l --interval=1", "--interval is the time between two looks; it goes with --top and --record"),
                ("--plot=a.svg", "--plot needs the recordings to draw: slabinfo --plot=SVG FILE..."),
                ("--diff a.json", "--diff compares two files that --json wrote, and 1 is given"),
                ("--diff a b c", "--diff compares two files that --json wrote, and 3 are given"),
                ("--exe=a", "--exe names the program that left a core file; it goes with --core FILE"),
                ("--set=a.limit=1 --set=b.limit=1",
                 '--set changes one attribute at a time; "b.limit=1" is one too many'),
                ("--set=a.limit=1 entry", '--set names its cache itself; it takes no regular expression "entry"'),
                ("--list entry", '--list is about processes; it takes no regular expression "entry"'),
                ("entry pblock", 'one regular expression is enough; "pblock" is one too many'),
                ("-p x", '"x" is not a process number; --pid takes a number from 1 on'),
                ("-p 0", '"0" is not a process number; --pid takes a number from 1 on'),
                ("(", r'"(" is not a regular expression: Unmatched ( or \('),
                ("-dx", "'x' is not a debug flag; " + letters), ("--debug=f,z", "',' is not a debug flag; " + letters),
                ("-d a entry", 'one regular expression is enough; "entry" is one too many; flags follow -d without a blank: '
                               "-da"),
                ("--sample=x", '"x" is not a number of allocations; --sample takes one from 1 on, and 0 for off'),
                ("--sample=-1", '"-1" is not a number of allocations; --sample takes one from 1 on, and 0 for off'),
                ("--since-mark=x",
                 '"x" is not a mark; --since-mark takes the number that --mark printed, or nothing for the last one')):
            self.refused(words.split(), error)

    def test_nothing_that_changes_or_repeats_goes_with_a_core_file(self):
        for word in ("-s", "-d", "-dz", "--set=a.b=1", "--reset", "--trim", "--mark", "--sample=1", "--fail=-",
                     "--profile=512k", "--record=a.json", "--top", "--list"):
            name = word.partition("=")[0].replace("-dz", "-d")
            self.refused([word, "--core=nothing"],
                         f"{name} cannot be done with a core file, which is read only once and not changed")

    def test_the_help_fits_a_screen_of_80_columns_and_24_lines(self):
        """One line is for the prompt."""
        lines = self.slabinfo("--help").splitlines()
        self.assertLessEqual(len(lines), 23)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.slabinfo("--version")

    def test_the_help_shows_every_option_and_names_the_man_page(self):
        self.has(self.slabinfo("-h"), "slabinfo(1)", *(
            "-A --activity|-B --bytes|-d --debug[=FLAGS]|-D --display-activity|-e --empty|-h --help|-i --inverted|-l --slabs|"
            "-L --loss|-n --numa|-N --lines=K|-p --pid=PID|-P --partial|-r --report|-s --shrink|-S --size|-t --tracking|"
            "-T --totals|-U --unreclaim|-v --validate|-X --xtotals|-z --zero|--process=NAME|--list|--memory|--core=FILE|"
            "--exe=FILE|--copy=N|--json|--openmetrics|--set=CACHE.ATTRIBUTE=VALUE|--reset|--trim|--sample=N|--fail=SPEC|--mark|"
            "--since-mark[=MARK]|--top[=SECONDS]|--map=SVG|--waste|--profile=peak|lifetimes|--profile=BYTES|--pprof=FILE|"
            "--flame=SVG|--record=FILE|--interval=SECONDS|--plot=SVG FILE...|--diff A B|--version").split("|"))

    def test_the_kernels_long_names_are_read(self):
        """The options that the kernel's tool accepts, and those that its help has."""
        for name in ("activity Bytes display-active display-activity empty inverted slabs Loss numa lines=3 partial report "
                     "shrink Size tracking Totals Unreclaim validate Xtotals zero debug=fzput").split():
            self.refused(["--" + name], "no process has slab caches")


unittest.main()
