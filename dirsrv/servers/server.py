#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./run server: recompile a directory server with types, and run it under load."""
import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from ds389 import Ds389
from openldap import OpenLdap
from shares import live_bytes, named
from steps import ROOT, Failure, Steps, as_user, die, get_source, give_to_user, last_line, say

SERVERS = {server.name: server for server in (Ds389, OpenLdap)}
PASSWORD = "secret"
MIX = "search=70,base=10,or=5,modify=5,add=10"
PATIENCE_S = 60
COMPILER = "clang-22"


def options():
    parser = argparse.ArgumentParser(prog="./run server", description="Compile a directory server by clang 22, which "
                                     "passes types to libslab_malloc.so (docs/types.md), below build/servers, and run "
                                     "it on the loopback interface under load, as a user without rights.")
    parser.add_argument("server", choices=sorted(SERVERS))
    parser.add_argument("--plain", action="store_true", help="by the same compiler without types")
    parser.add_argument("--check", action="store_true", help="100,000 operations, and the checks: "
                        "bytes with a type, leaks at exit, ldapsearch, dsconf")
    parser.add_argument("--build", action="store_true", help="compile it, and do not run it")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--tag", help="this tag of the project's repository instead of Debian's source")
    source.add_argument("--source", metavar="FOLDER", help="a copy of this source instead of fetching one")
    parser.add_argument("--operations", type=int, default=30000, help="of the load (default: %(default)s)")
    parser.add_argument("--entries", type=int, default=10000, help="of the directory (default: %(default)s)")
    return parser.parse_args()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Run:
    """One server with fresh data in a temporary folder."""

    def __init__(self, server, chosen, folder):
        self.server, self.chosen, self.folder = server, chosen, folder
        self.port = free_port()
        self.url = f"ldap://127.0.0.1:{self.port}"
        self.log = os.path.join(folder, "log")
        self.process = None

    def environment(self, **more):
        inherited = {name: value for name, value in os.environ.items()
                     if name in ("PATH", "LANG") or name.startswith("SLAB_")}
        return {"SLAB_CONTROL": "on", **inherited, "HOME": self.folder, **more,
                "LD_LIBRARY_PATH": os.path.join(ROOT, "build", "lib")}

    def load(self):
        ldif = os.path.join(self.folder, "entries.ldif")
        self.server.place(self.folder, PASSWORD)
        with open(ldif, "w", encoding="utf-8") as file:
            subprocess.run([ldapload(), "--make-ldif", str(self.chosen.entries)], stdout=file, check=True)
        give_to_user(self.folder)
        say(f"loading {self.chosen.entries} entries")
        with open(self.log, "ab") as log:
            done = subprocess.run(self.server.load_command(self.folder, ldif), env=self.environment(),
                                  cwd=self.folder, stdout=log, stderr=log, check=False, **as_user())
        if done.returncode != 0:
            raise Failure(f"the entries were not loaded: {last_line(self.log)}")

    def start(self):
        environment = self.environment(LD_PRELOAD=os.path.join(ROOT, "build", "lib", "libslab_malloc.so.0"))
        if self.chosen.check:
            environment["SLAB_LEAK_CHECK"] = "exit"
        self.log = os.path.join(self.folder, "server.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.server.command(self.folder, self.port), env=environment,
                                            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, **as_user())
        deadline = time.monotonic() + PATIENCE_S
        while not answers(self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failure(f"{self.server.program} did not start: {last_line(self.log)}")
            time.sleep(0.1)
        say(f"{self.server.program} {self.server.version()}, process {self.process.pid}, "
            f"{self.url}, bind as {self.server.root}")

    def stop(self):
        if not self.process:
            return None
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def put_under_load(self):
        count = max(self.chosen.operations, 100000) if self.chosen.check else self.chosen.operations
        say(f"{count} operations of ldapload: {MIX}")
        done = subprocess.run([ldapload(), "-H", self.url, "-D", self.server.root, "-w", PASSWORD, "-c", "32",
                               "-t", "2", "--mix", MIX, "--values", f"user%06u:0-{self.chosen.entries - 1}",
                               "--operations", str(count)], stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, end="")
        return done.returncode == 0 and is_complete(done.stdout, count)

    def search(self):
        """The first thing that an administrator would try: one entry by ldapsearch."""
        return (["ldapsearch", "-x", "-LLL", "-H", self.url, "-D", self.server.root, "-w", PASSWORD, "-b",
                 "dc=example,dc=com", "uid=user000007"], {}, "dn: uid=user000007")

    def check_tools(self):
        """Clients, each with what it must print."""
        good = True
        for command, variables, expected in (self.search(), *self.server.administer(self.url, PASSWORD)):
            done = subprocess.run(command, env={**os.environ, "HOME": self.folder, **variables},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            good &= verdict(f"{command_name(command)} printed '{expected}'", expected in done.stdout)
            if expected not in done.stdout:
                print(done.stdout + done.stderr)
        return good

    def slabinfo(self, *arguments):
        program = os.path.join(ROOT, "build", "bin", "slabinfo")
        return subprocess.run([program, "-p", str(self.process.pid), *arguments], capture_output=True,
                              text=True, check=False)


def is_complete(table, count):
    """Whether ldapload's line of all operations has this number; one that is interrupted ends well, too."""
    return re.search(rf"^all +{count} ", table, re.MULTILINE) is not None


def command_name(command):
    """The program and its last words, without the interpreter and the address."""
    program = command[1] if command[0].endswith("python3") else command[0]
    words = command[command.index(PASSWORD) + 1:]
    return " ".join([os.path.basename(program), *words])


def ldapload():
    return os.path.join(ROOT, "build", "bin", "ldapload")


def flags(server):
    """For cc, with types: the header with attributes before each source; behind each program what passes types on,
    and the archive. Where a library has the allocation functions, it alone has TYPED_WRAPPERS.
    """
    typed = server.steps.path("typed")
    return {"TYPED_CFLAGS": f"{server.compiler_flags} -fsanitize=alloc-token -fsanitize-alloc-token-extended "
                            f"-include {typed}/tokens.h",
            "TYPED_WRAPPERS": f"{typed}/tokens.a",
            "TYPED_LIBS": os.path.join(ROOT, "build", "lib", "libslab_token.a") + " -ldl"}


def pass_types(server):
    """The header and the archive: each allocation function, its wrapper in a file of its own, and casts."""
    steps = server.steps
    for name, place, cast in server.casts:
        path = os.path.join(server.source, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(place, cast, text))
    os.makedirs(steps.path("typed"), exist_ok=True)
    header, objects = [], []
    for line in server.allocators.splitlines():
        size, declaration = line.split("\t")
        kind, name, parameters = re.match(r"(\w+ \*)(\w+)\((.*)\)", declaration).groups()
        arguments = ", ".join(re.findall(r"(\w+)(?:,|$)", parameters))
        header.append(f"{declaration} __attribute__((alloc_size({size}), noinline));\n")
        source = steps.path("typed", f"{name}.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f"#include <slab/token.h>\n{declaration};\n"
                       f"SLAB_TOKEN_WRAPPER({kind}, {name}, ({parameters}), ({arguments}))\n")
        objects.append(source[:-1] + "o")
        steps.run([COMPILER, "-O2", "-fPIC", f"-I{ROOT}/include", "-c", source, "-o", objects[-1]], "build.log")
    with open(steps.path("typed", "tokens.h"), "w", encoding="utf-8") as file:
        file.writelines(header)
    steps.run(["ar", "rcs", steps.path("typed", "tokens.a"), *objects], "build.log")


def fetch(server, chosen):
    if chosen.source:
        shutil.rmtree(server.source, ignore_errors=True)  # what an interrupted copy left
        shutil.copytree(chosen.source, server.source, symlinks=True)
    else:
        get_source(server, server.source, chosen.tag)


def build(server, chosen):
    steps = server.steps
    steps.once("source", 5, lambda: fetch(server, chosen))
    say(f"{server.program} {server.version()}; tested with {' and '.join(server.tested)}")
    if not chosen.plain:
        steps.once("types", 2, lambda: pass_types(server))
    server.build({"TYPED_CC": COMPILER} | ({"TYPED_CFLAGS": server.compiler_flags} if chosen.plain else flags(server)))


def verdict(text, good):
    print(f"   {'ok  ' if good else 'FAIL'} {text}")
    return good


def check_types(run):
    """The bytes in caches and above them that have a type."""
    share = 100 * named(live_bytes(json.loads(run.slabinfo("--json").stdout)))
    return verdict(f"{share:.1f} % of the live bytes have a type", share >= run.server.least_typed)


def check_log(run, status):
    """What the server wrote when it ended, leaks among it."""
    with open(run.log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    good = verdict(f"the server ended with status {status}", status == 0)
    print("   at exit:")
    for line in text.splitlines():
        print(f"     {line}")
    return good


def run_server(server, chosen):
    with tempfile.TemporaryDirectory(prefix=f"run-{server.name}-", dir=server.steps.folder) as folder:
        run = Run(server, chosen, folder)
        good, status = True, None
        try:
            run.load()
            run.start()
            good &= verdict("the load is complete, without an error", run.put_under_load())
            print(run.slabinfo().stdout)
            if chosen.check:
                good &= run.check_tools()
                good &= run.chosen.plain or check_types(run)
        finally:
            status = run.stop()
        if chosen.check:
            good &= check_log(run, status)
        return good


def place(chosen):
    """Where everything of this server is: each source, and what has no types, has its own."""
    source = os.path.basename(os.path.abspath(chosen.source)) if chosen.source else chosen.tag
    names = [chosen.server, source and source.replace("/", "-"), "plain" if chosen.plain else None]
    return os.path.join(ROOT, "build", "servers", "-".join(filter(None, names)))


def main():
    chosen = options()
    folder = place(chosen)
    server = SERVERS[chosen.server](Steps(folder))
    try:
        build(server, chosen)
        good = chosen.build or run_server(server, chosen)
    except Failure as error:
        die(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
