# SPDX-License-Identifier: MIT
"""slab-exporter from the outside: what it serves for processes whose caches are known, that neither they nor its clients
can hold it up, and what a real Prometheus makes of it, of the alerts and of the dashboard.

usage: exporter_test.py SOURCE-FOLDER BUILD-FOLDER CLASS...
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.parse
from pathlib import Path

import processes
from processes import BUILD, SOURCE, Impostor, Program, Server

OPENMETRICS = "Accept: application/openmetrics-text; version=1.0.0\r\n"


def connect(port, data=""):
    stream = socket.create_connection(("127.0.0.1", port), 60)
    with contextlib.suppress(ConnectionError):
        stream.sendall(data.encode())
    return stream


def request(path, headers="", method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"


class Reply:
    def __init__(self, stream):
        data = b""
        with stream, contextlib.suppress(ConnectionResetError):
            while more := stream.recv(65536):
                data += more
        head, _, self.body = data.decode().partition("\r\n\r\n")
        first, *lines = head.split("\r\n")
        self.status = int(first.split()[1]) if first else 0
        self.headers = dict(line.split(": ", 1) for line in lines)


def fetch(port, *what):
    return Reply(connect(port, request(*what)))


def sample(text, name):
    """The value of a sample, by its name and all its labels as they are written; -1 when there is none."""
    found = re.search(rf"^{re.escape(name)} (\S+)", text, re.MULTILINE)
    return float(found[1]) if found else -1


def labels(pid, cache=None):
    return f'{{process="control_server",pid="{pid}"' + (f',cache="{cache}"}}' if cache else "}")


class Exporter(Program):
    def __init__(self, test, *options, listen="127.0.0.1:0"):
        super().__init__(test, EXPORTER, "--listen", listen, *options)
        self.first = self.line()
        self.port = int(re.search(r":(\d+)/", self.first)[1]) if self.first else 0

    def get(self, *what):
        return fetch(self.port, *(what or ("/metrics",)))


class Case(processes.Case):
    def samples(self, text, expected):
        for name, value in expected.items():
            self.assertEqual(sample(text, name), value, name)


class Numbers(Case):
    def test_serves_the_numbers_of_all_processes(self):
        servers, serving = [Server(self) for _ in range(2)], Exporter(self)
        text = serving.get().body
        for server in servers:
            stats = json.loads(self.slabinfo("--json", "-z", "--pid", str(server.pid)))
            for cache in stats["caches"]:
                of = labels(server.pid, cache["name"])
                self.samples(text, {"slab_cache_objects" + of: cache["objects"], "slab_cache_errors_total" + of: 0,
                                    "slab_cache_object_size_bytes" + of: cache["object_size"],
                                    "slab_cache_bytes" + of: cache["slab_bytes"]})
            self.assertLessEqual({"entry", "pblock", "empty", "first"}, {cache["name"] for cache in stats["caches"]})
            self.samples(text, {"slab_process_slab_bytes" + labels(server.pid): stats["process"]["slab_bytes"]})
        self.samples(text, {"slab_exporter_processes": 2, "slab_exporter_failed_processes": 0})

    def test_slabinfo_prints_the_same_families(self):
        of = "slab_cache_objects" + labels(Server(self).pid, "entry")
        text = self.slabinfo("--openmetrics")
        self.samples(text, {of: 500})
        self.samples(Exporter(self).get().body, {of: 500})
        self.assertEqual(text.splitlines()[-1], "# EOF")

    def test_slabinfo_prints_only_the_caches_that_are_meant(self):
        pid = Server(self).pid
        self.samples(self.slabinfo("--openmetrics", "^entry$"), {"slab_cache_objects" + labels(pid, "entry"): 500,
                                                                 "slab_cache_objects" + labels(pid, "pblock"): -1})

    def test_no_process_is_no_error(self):
        got = Exporter(self).get()
        self.assertEqual(got.status, 200)
        self.samples(got.body, {"slab_exporter_processes": 0})

    def test_only_named_processes(self):
        Server(self)
        for options, count in ((["--process", "nobody", "--process", "control_server"], 1), (["--process", "nobody"], 0)):
            self.samples(Exporter(self, *options).get().body, {"slab_exporter_processes": count})

    def test_caches_beyond_the_bound_are_summed_up(self):
        pid = Server(self).pid
        self.samples(Exporter(self, "--max-caches", "1").get().body,
                     {"slab_cache_objects" + labels(pid, "entry"): 500, "slab_cache_objects" + labels(pid, "other"): 601,
                      "slab_cache_objects" + labels(pid, "pblock"): -1, "slab_process_folded_caches" + labels(pid): 3})

    def test_processes_beyond_the_bound_are_summed_up(self):
        for _ in range(3):
            Server(self)
        self.samples(Exporter(self, "--max-processes", "1").get().body,
                     {'slab_cache_objects{process="other",pid="0",cache="other"}': 2 * 1101,
                      "slab_exporter_processes": 3, "slab_exporter_folded_processes": 2})

    def test_processes_in_containers_are_served(self):
        """In a file system that nobody else sees."""
        unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*unshare, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no containers here")
        script = ('mount -t tmpfs none "$0" && cp "$1" "$0/program" && export SLAB_RUNTIME_DIR="$0" && '
                  'exec "$0/program" plain')
        outer = Program(self, *unshare, "sh", "-c", script, self.folder, BUILD / "bin/control_server")
        self.assertTrue(outer.line().startswith("ready "))
        inner = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text(encoding="ascii").strip()
        self.samples(Exporter(self).get().body,
                     {f'slab_cache_objects{{process="program",pid="{inner}",cache="entry"}}': 500})

    def test_processes_without_a_socket_are_served(self):
        os.environ["SLAB_CONTROL"] = "off"
        server = Server(self)
        del os.environ["SLAB_CONTROL"]
        self.samples(Exporter(self).get().body, {"slab_cache_objects" + labels(server.pid, "entry"): 500})

    def test_both_copies_of_libslab_are_served(self):
        os.environ["LIBSLAB"] = str(BUILD / "lib/libslab.so.0")
        Server(self, "silent_server_archive", "both")
        del os.environ["LIBSLAB"]
        text = Exporter(self).get().body
        for name in ("mine", "entry@libslab.so.0.1.0"):
            self.assertIn(f'",cache="{name}"}} 300\n', text)

    def test_a_stopped_process_is_read(self):
        server, serving = Server(self), Exporter(self)
        os.kill(server.pid, signal.SIGSTOP)
        text = serving.get().body
        os.kill(server.pid, signal.SIGCONT)
        self.samples(text, {"slab_cache_objects" + labels(server.pid, "entry"): 500})


class Http(Case):
    def test_format_is_negotiated(self):
        serving = Exporter(self)
        text, classic = serving.get("/metrics", OPENMETRICS), serving.get()
        self.assertEqual(text.headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertEqual(text.body.splitlines()[-1], "# EOF")
        self.assertEqual(classic.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertNotRegex(classic.body, "# (EOF|UNIT)")

    def test_page_has_a_link(self):
        got = Exporter(self).get("/")
        self.assertEqual((got.status, got.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn('<a href="/metrics">', got.body)

    def test_health_is_checked_without_a_scrape(self):
        serving = Exporter(self)
        for _ in range(2):
            got = serving.get("/-/healthy")
            self.assertEqual((got.status, got.body), (200, "healthy\n"))
        self.samples(serving.get().body, {"slab_exporter_scrapes_total": 1})

    def test_head_has_no_body(self):
        serving = Exporter(self)
        for path in ("/metrics", "/", "/-/healthy"):
            got = serving.get(path, "", "HEAD")
            self.assertEqual((got.status, got.body), (200, ""), path)
            self.assertNotEqual(got.headers["Content-Length"], "0", path)

    def test_other_methods_and_paths_are_refused(self):
        serving = Exporter(self)
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
            got = serving.get("/metrics", "", method)
            self.assertEqual((got.status, got.headers["Allow"]), (405, "GET, HEAD"), method)
        for path in ("/metric", "/metrics/", "/../etc/passwd", "/-/"):
            self.assertEqual(serving.get(path).status, 404, path)

    def test_ipv6_is_served(self):
        serving = Exporter(self, listen="[::1]:0")
        if not serving.port:
            self.skipTest("this machine has no IPv6")
        self.assertEqual(serving.first, f"slab-exporter: serving http://[::1]:{serving.port}/metrics")

    def test_ends_by_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            serving = Exporter(self)
            self.assertEqual(serving.get().status, 200)
            self.assertEqual(serving.end(number)[0], 0)

    def test_ends_in_the_middle_of_a_scrape(self):
        Impostor(self, None)
        serving = Exporter(self, "--timeout", "60")
        with connect(serving.port, request("/metrics")):
            self.assertEqual(serving.get("/-/healthy").status, 200)
            self.assertEqual(serving.end()[0], 0)

    def refused(self, words, error):
        ran = subprocess.run([EXPORTER, *words], text=True, capture_output=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr, ran.stdout), (2, f"slab-exporter: {error}\n", ""), words)

    def test_a_port_in_use_is_reported(self):
        port = Exporter(self).port
        self.refused(["--listen", f"127.0.0.1:{port}"], f"cannot listen on 127.0.0.1 port {port}: Address already in use")

    def test_wrong_options_are_reported(self):
        for listen in ("9716", "127.0.0.1:65536", "127.0.0.1:-1", "::1:9716", ":9716"):
            self.refused(["--listen", listen],
                         f'--listen takes ADDRESS:PORT as in 127.0.0.1:9716 or [::1]:9716, not "{listen}"')
        for words, error in (
                (["--listen"], "--listen needs a value; --help shows the options"),
                (["--max-caches", "0"], '--max-caches takes a number from 1 to 10000, not "0"'),
                (["--max-caches", "7x"], '--max-caches takes a number from 1 to 10000, not "7x"'),
                (["--max-processes", "9" * 20], f'--max-processes takes a number from 1 to 1000, not "{"9" * 20}"'),
                (["--timeout", "nan"], '--timeout takes 0.1 to 60 seconds, not "nan"'),
                (["--timeout", "61"], '--timeout takes 0.1 to 60 seconds, not "61"'),
                (["--process", ""], "--process takes the name of a process, not an empty one"),
                (["--version=yes"], "--version takes no value; --help shows the options"),
                (["--foo"], "there is no option --foo, or more than one that begins so; --help shows the options"),
                (["-z"], "there is no option -z; --help shows the options"),
                (["metrics"], 'takes options only, not "metrics"; --help shows them')):
            self.refused(words, error)

    def test_help_and_version(self):
        said = [subprocess.run([EXPORTER, word], text=True, check=True, stdout=subprocess.PIPE).stdout
                for word in ("--help", "-h", "--version")]
        self.assertIn("--max-processes N", said[1])
        self.assertLessEqual(max(map(len, said[0].splitlines())), 80)
        self.assertTrue(said[2].startswith("slab-exporter 0."))


class Hostile(Case):
    """Processes and clients that do not answer."""

    def test_silent_process_fails_and_the_others_are_served(self):
        server, silent, serving = Server(self), Impostor(self, None), Exporter(self, "--timeout", "0.5")
        self.samples(serving.get().body, {"slab_exporter_processes": 2, "slab_exporter_failed_processes": 1,
                                          "slab_cache_objects" + labels(server.pid, "entry"): 500})
        self.assertIn(f"slab-exporter: process {silent.pid} (", serving.end()[1])

    def test_process_that_blocks_its_readers_fails_alone(self):
        """A reader of its memory waits as long as the process likes; other processes are served."""
        server, hostile = Server(self), Server(self, "hostile_server", "fault")
        if hostile.ready == "ready -1":
            self.skipTest("no memory that waits: userfaultfd() is not allowed")
        serving = Exporter(self, "--timeout", "3")
        self.samples(serving.get().body, {"slab_cache_objects" + labels(server.pid, "entry"): 500,
                                          "slab_exporter_processes": 2, "slab_exporter_failed_processes": 1})
        self.assertEqual(serving.end()[1], f"slab-exporter: process {hostile.pid} (hostile_server) did not answer within "
                         "3 seconds\n")

    def test_process_without_caches_is_not_counted(self):
        Server(self)
        Program(self, "/bin/cat")
        self.samples(Exporter(self).get().body,
                     {"slab_exporter_processes": 1, "slab_exporter_failed_processes": 0})

    def test_nonsense_is_a_failure_reported_once(self):
        for answer in ("nonsense\n", "", '{"slab":2,"ok":true}\n', "[1,2]\n",
                       '{"slab":2,"ok":true,"process":[],"caches":{}}\n', '{"slab":2,"ok":false,"error":"not today"}\n'):
            impostor, serving, scrapes = Impostor(self, lambda *_, text=answer: text), Exporter(self), 0
            while scrapes < 2:
                text = serving.get().body
                self.assertEqual(sample(text, "slab_exporter_failed_processes"), 1, answer)
                scrapes = sample(text, "slab_exporter_scrapes_total")
            errors = serving.end()[1]
            self.assertEqual(len(errors.splitlines()), 1, errors)
            self.assertIn(f"process {impostor.pid} (", errors)
            impostor.end()

    def test_strange_caches_are_served_as_they_can(self):
        Impostor(self, lambda *_: '{"slab":2,"ok":true,"caches":[7,{"name":"a\\"\\n","order":3000,"objects":-5},null,'
                 '{"name":{}}]}\n')
        text = Exporter(self).get("/metrics", OPENMETRICS).body
        self.assertIn('cache="a\\"\\n"', text)
        self.assertEqual(text.splitlines()[-1], "# EOF")

    def test_process_that_is_gone_is_no_failure(self):
        serving = Exporter(self)
        Server(self).end(signal.SIGKILL)
        self.samples(serving.get().body, {"slab_exporter_failed_processes": 0})

    def test_clients_share_a_scrape(self):
        Impostor(self, None)
        serving = Exporter(self, "--timeout", "0.5")
        streams = [connect(serving.port, request("/metrics", OPENMETRICS if i % 2 else "")) for i in range(20)]
        for stream in streams:
            self.samples(Reply(stream).body, {"slab_exporter_scrapes_total": 1})

    def test_slow_clients_do_not_hold_up_others(self):
        serving = Exporter(self)
        streams = [connect(serving.port, "GET /metr" if i % 2 else "") for i in range(200)]
        self.assertEqual(serving.get().status, 200)
        for stream in streams:
            stream.close()

    def test_clients_that_leave_do_no_harm(self):
        Impostor(self, None)
        serving = Exporter(self, "--timeout", "0.5")
        for _ in range(20):
            connect(serving.port, request("/metrics")).close()
        self.assertEqual(serving.get().status, 200)

    def test_requests_are_bounded_in_size(self):
        serving = Exporter(self)
        self.assertGreaterEqual(serving.get("/metrics", "X-Long: " + "x" * 100000 + "\r\n").status, 400)
        self.assertEqual(serving.get().status, 200)


class Promtool(Case):
    """The formats, the alerts and their own tests, the example configuration."""

    def check(self, *words, data=None):
        if not shutil.which("promtool"):
            self.skipTest("promtool is missing; Debian has it as prometheus")
        ran = subprocess.run(["promtool", *words], input=data, text=True, check=False, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        return ran.stdout

    def test_nothing_is_said_about_the_metrics(self):
        Server(self)
        canned = (SOURCE / "tests/metrics/classic.txt").read_text(encoding="utf-8")
        for text in (Exporter(self).get().body, canned):
            self.assertEqual(self.check("check", "metrics", data=text), "")

    def test_rules_and_configuration(self):
        self.check("check", "rules", "--lint-fatal", METRICS / "slab-alerts.yml")
        self.check("test", "rules", SOURCE / "tests/metrics/slab-alerts-test.yml")
        self.check("check", "config", METRICS / "prometheus.yml")


def strings(document, key):
    """All strings of members called `key`, anywhere in a document."""
    if isinstance(document, list):
        return {text for part in document for text in strings(part, key)}
    if not isinstance(document, dict):
        return set()
    own = {document[key]} if isinstance(document.get(key), str) else set()
    return own.union(*(strings(part, key) for part in document.values()))


class Prometheus(Case):
    """A Prometheus that scrapes one exporter every second."""

    def setUp(self):
        super().setUp()
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is missing; Debian has it")
        self.server = Server(self)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        Path(self.folder, "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{METRICS}/slab-alerts.yml]\nscrape_configs:\n  - job_name: slab\n    static_configs:\n"
            f"      - targets: ['127.0.0.1:{Exporter(self).port}']\n", encoding="utf-8")
        Program(self, "prometheus", "--log.level=error", f"--config.file={self.folder}/prometheus.yml",
                f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}")
        self.expect('up{job="slab"}', "1")

    def api(self, path):
        try:
            return json.loads(fetch(self.port, "/api/v1/" + path).body).get("data")
        except (OSError, ValueError):
            return None

    def results(self, expression):
        return (self.api("query?query=" + urllib.parse.quote(expression)) or {}).get("result")

    def value(self, expression):
        found = self.results(expression) or []
        return found[0]["value"][1] if len(found) == 1 else None

    def expect(self, expression, value):
        """Wait until a query has the value."""
        end = time.monotonic() + 60
        while self.value(expression) != value and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.value(expression), value, expression)

    def test_scrapes_what_slabinfo_shows(self):
        other = Server(self)
        self.server.do_task("l")
        for server in (self.server, other):
            table = self.slabinfo("-z", "--pid", str(server.pid))
            for cache in ("entry", "pblock", "first", "empty"):
                self.expect(f'slab_cache_objects{{pid="{server.pid}",cache="{cache}"}}',
                            re.search(rf"^{cache} +(\d+)", table, re.MULTILINE)[1])
        self.expect('count(slab_process_info{process="control_server"})', "2")

    def test_reads_openmetrics(self):
        """The classic format has no units, and calls the second one ..._total. Nothing is dropped."""
        for name in ("slab_cache_bytes", "slab_cache_counted_seconds"):
            self.assertTrue(self.api("targets/metadata?metric=" + name)[0]["unit"], name)
        self.expect("scrape_samples_scraped - scrape_samples_post_metric_relabeling", "0")
        self.expect('count({__name__=~"slab_.*"}) - scalar(scrape_samples_scraped)', "0")

    def dashboard(self, part, key):
        with open(METRICS / "slab-dashboard.json", encoding="utf-8") as file:
            found = strings(json.load(file)[part], key)
        return [re.sub(r"\$(instance|process|pid|cache)\b", ".*", text) for text in found]

    def test_dashboard_finds_what_it_asks_for(self):
        self.expect('count_over_time(up{job="slab"}[10m]) >= bool 3', "1")  # rates need two scrapes
        queries = self.dashboard("panels", "expr")
        self.assertGreaterEqual(len(queries), 20)
        for query in queries:
            query = query.replace("$__rate_interval", "10m")
            self.assertNotIn("$", query)
            found = self.results(query)
            # The server's caches have no limit.
            self.assertEqual(bool(found), "slab_cache_limit_bytes" not in query, query)
            self.assertIsNotNone(found, query)

    def test_dashboard_variables_have_values(self):
        definitions = self.dashboard("templating", "definition")
        self.assertEqual(len(definitions), 4)
        for definition in definitions:
            series, label = re.fullmatch(r"\w+\((.*), (\w+)\)", definition).groups()
            self.assertTrue(self.results(f"count by ({label}) ({series})"), definition)

    def test_corruption_is_alerted(self):
        self.slabinfo("-da", "entry")
        self.server.do_task("l")
        self.server.do_task("o")
        self.slabinfo("-v", "entry", status=1)
        self.expect('ALERTS{alertname="SlabCorruption",alertstate="firing",cache="entry"}', "1")


METRICS, EXPORTER = SOURCE / "tools/metrics", BUILD / "bin-scripted/slab-exporter"
unittest.main()
