# SPDX-License-Identifier: MIT
"""Programs that people run, with a library in malloc's place: the CPU time and the resident memory of all their
processes together. README.md says what each does.
"""
import contextlib
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import bench
import runner
from runner import Failed, Goal

QUESTION = "CPU time and memory of databases, servers, compilers and a script under each malloc"
SECONDS = (20, 900)
METRICS = {"cpu": "s", "peak": "MiB"}
SHORT = {"cases": "nginx|gcc", "contestants": "slab,glibc"}
HEADS = {"time": ("cpu",), "memory": ("peak",)}
CASES = {
    "postgresql": "pgbench: 4 connections",
    "redis": "redis-benchmark: strings, lists, hashes and sorted sets",
    "nginx": "ab: a page of 100 KB, compressed",
    "node": "node: JSON, maps, buffers and zlib",
    "javac": "javac: 120 classes",
    "gcc": "g++: a file with regular expressions and maps",
}
TOOLS = {"postgresql": ("postgres", "initdb", "pgbench"), "redis": ("redis-server", "redis-benchmark"),
         "nginx": ("nginx", "ab"), "node": ("node",), "javac": ("javac",), "gcc": ("g++",)}
GOALS = [Goal(case, metric, 1.03) for case in CASES for metric in METRICS]
WITHIN_S, SAMPLE_S = 30, 0.05
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin",
                        *sorted(glob.glob("/usr/lib/postgresql/*/bin"))])
NODE = """
const zlib = require('zlib'), map = new Map();
for (let i = 0; i < 60000; i++) map.set('key' + i, { id: i, name: 'entry ' + i, values: [i, i * 2, '' + i] });
for (let i = 0; i < 6; i++) {
  const text = JSON.stringify([...map]), back = JSON.parse(text);
  zlib.gunzipSync(zlib.gzipSync(Buffer.from(text.slice(0, 2000000)), { level: 1 }));
  for (let j = 0, kept = []; j < 20000; j++) kept[j % 500] = Buffer.alloc(4096 + j % 9000, back[j][0]);
}
"""
CLASS = """
class C{n} {{
  private final java.util.Map<String, java.util.List<Integer>> map = new java.util.TreeMap<>();
  private int value = {n};
  String join(java.util.List<String> words) {{
    return words.stream().filter(w -> w.length() > {n} % 7).map(w -> w + value).reduce("", (a, b) -> a + b);
  }}
  void put(String key) {{ map.computeIfAbsent(key, k -> new java.util.ArrayList<>()).add(value++); }}
}}
"""
CXX = """
#include <iostream>
#include <map>
#include <regex>
template <int N> struct Tree { std::map<std::string, Tree<N - 1>> next; std::map<int, std::string> names; };
template <> struct Tree<0> { std::vector<std::string> leaves; };
int main(int argc, char **argv)
{
  Tree<24> tree;
  std::regex pattern(argv[0]);
  for (std::string line; std::getline(std::cin, line);)
    if (std::regex_match(line, pattern)) tree.next[line].names[argc] = line;
}
"""
NGINX = """
worker_processes 2;
error_log error.log;
pid nginx.pid;
events {{}}
http {{
  access_log off; gzip on; gzip_http_version 1.0; gzip_types text/plain; default_type text/plain;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server {{ listen 127.0.0.1:{port}; root .; }}
}}
"""


def missing(case):
    return [tool for tool in TOOLS[case] if not shutil.which(tool, path=PATH)]


def contestants(_build):
    for case in CASES:
        if missing(case):
            print(f"{case} is left out: {missing(case)[0]} is not installed", file=sys.stderr)
    return runner.from_libraries("/bin/sh")


class Place:
    """The folder of a case until the run ends, of a user that is not root: PostgreSQL refuses root."""

    def __init__(self, case):
        self.directory = tempfile.TemporaryDirectory(prefix="programs-")
        self.folder = self.directory.name
        self.user = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(self.folder, **self.user)
        self.command, self.answers, self.load = prepare(case, self)

    def end(self):
        self.directory.cleanup()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, command, environment):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            return subprocess.Popen([shutil.which(command[0], path=PATH), *command[1:]], cwd=self.folder, stdout=log,
                                    stderr=log, stdin=subprocess.DEVNULL, env=dict(environment, PATH=PATH), **self.user)

    def run(self, *command):
        """Without a library in malloc's place."""
        if self.start(command, bench.plain_environment(self.folder)).wait(runner.LIMIT_S):
            raise Failed(f"{command[0]}: {self.last_line()}")

    def last_line(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
            return (log.read().strip() or "it failed").splitlines()[-1]


class Tree:
    """A process and its descendants, looked at twenty times a second."""

    def __init__(self, process, library):
        self.pid, self.library = process.pid, os.path.basename(os.path.realpath(library))
        self.peak, self.served, self.over = 0, False, threading.Event()
        self.sampler = threading.Thread(target=self.sample_all, daemon=True)
        self.sampler.start()

    def pids(self, pid):
        yield pid
        for task in glob.glob(f"/proc/{pid}/task/*/children"):
            with contextlib.suppress(OSError), open(task, encoding="utf-8") as file:
                for child in file.read().split():
                    yield from self.pids(int(child))

    def sample(self):
        total = 0
        for pid in self.pids(self.pid):
            with contextlib.suppress(OSError):
                total += int(bench.line_from(f"/proc/{pid}/status", r"^RssAnon:\s+(\d+)").replace("unknown", "0"))
                if not self.served:
                    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
                        self.served = self.library in maps.read()
        self.peak = max(self.peak, total * 1024)

    def sample_all(self):
        while not self.over.wait(SAMPLE_S):
            self.sample()

    def end(self):
        self.over.set()
        self.sampler.join()


def until(connects, process):
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), connects():
            return
        time.sleep(0.01)
    raise Failed("the server does not answer")


def connected(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    return client


def prepare(case, place):
    """Once for all contestants: (command, whether it answers or None, load or None)"""
    folder = place.folder
    if case == "postgresql":
        place.run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "--no-sync")
        command = ["postgres", "-D", "data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        load = ["pgbench", "-h", folder, "-U", "postgres"]

        def answers():
            return connected(os.path.join(folder, ".s.PGSQL.5432"))
        server = place.start(command, bench.plain_environment(folder))
        try:
            until(answers, server)
            place.run(*load, "-i", "-s", "2", "postgres")
        finally:
            server.terminate()
            server.wait()
        return command, answers, [*load, "-c", "4", "-t", "1000", "postgres"]
    if case == "redis":
        path = os.path.join(folder, "redis.socket")
        return (["redis-server", "--port", "0", "--unixsocket", path, "--save", ""],
                lambda: connected(path),
                ["redis-benchmark", "-s", path, "-n", "20000", "-c", "20", "-r", "20000", "-d", "100", "-q",
                 "-t", "set,get,lpush,rpop,sadd,hset,zadd"])
    if case == "nginx":
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        place.write("nginx.conf", NGINX.format(port=port))
        place.write("page", "".join(f"line {i * i}\n" for i in range(8000)))
        return (["nginx", "-p", folder, "-c", "nginx.conf", "-g", "daemon off;"],
                lambda: socket.create_connection(("127.0.0.1", port)),
                ["ab", "-q", "-n", "1500", "-c", "8", "-H", "Accept-Encoding: gzip",
                 f"http://127.0.0.1:{port}/page"])
    if case == "node":
        return ["node", "-e", NODE], None, None
    if case == "javac":
        place.write("Classes.java", "".join(CLASS.format(n=n) for n in range(120)))
        return ["javac", "-d", "out", "Classes.java"], None, None
    place.write("program.cc", CXX)
    return ["g++", "-std=c++17", "-O1", "-c", "program.cc", "-o", "program.o"], None, None


def figures(contestant, place):
    """(CPU seconds, bytes) of a command, which a load uses if it is a server."""
    process = place.start(place.command, contestant.environment)
    tree = Tree(process, contestant.library)
    try:
        if place.load:
            until(place.answers, process)
            place.run(*place.load)
            process.send_signal(signal.SIGINT if place.command[0] == "postgres" else signal.SIGTERM)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        tree.end()
        process.kill()
        process.wait()
    if process.returncode:
        raise Failed(f"{place.command[0]}: status {process.returncode}: {place.last_line()}")
    if not tree.served:
        raise Failed(f"{contestant.library} is in none of its processes")
    return usage.ru_utime + usage.ru_stime, tree.peak


def measure(contestant, cases, run):
    case = cases[0]
    if missing(case):
        return
    if case not in run.kept:
        run.kept[case] = Place(case)
    yield from ((case, 0, *figure) for figure in zip(METRICS, figures(contestant, run.kept[case])))
