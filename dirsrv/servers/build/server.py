#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./run server: build a directory server with typed caches, and run it under load."""
import argparse
import contextlib
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
from steps import HERE, ROOT, Failure, Steps, as_user, die, get_source, give_to_user, last_line, say

SERVERS = {server.name: server for server in (Ds389, OpenLdap)}
PASSWORD = "secret"
MIX = "search=70,base=10,or=5,modify=5,add=10"
PATIENCE_S = 60


def options():
    parser = argparse.ArgumentParser(prog="./run server", description="Build a directory server with "
                                     "libslab's typed caches below build/servers, and run it on the "
                                     "loopback interface under load, as a user without rights.")
    parser.add_argument("server", choices=sorted(SERVERS))
    parser.add_argument("--preload", action="store_true", help="the server is not converted: "
                        "libslab_malloc.so serves it, and libslab-389ds.so, too, a 389")
    parser.add_argument("--tokens", action="store_true", help="the server is not converted, but compiled by clang 22, which "
                        "passes types to libslab_malloc.so (docs/types.md)")
    parser.add_argument("--check", action="store_true", help="100,000 operations, and the checks of the "
                        "conversion: scan, untyped frees, leaks at exit, ldapsearch, dsconf")
    parser.add_argument("--build", action="store_true", help="compile it, and do not run it")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--tag", help="this tag of the project's repository instead of Debian's source")
    source.add_argument("--source", metavar="FOLDER", help="a copy of this source instead of fetching one")
    parser.add_argument("--operations", type=int, default=30000, help="of the load (default: %(default)s)")
    parser.add_argument("--entries", type=int, default=10000, help="of the directory (default: %(default)s)")
    chosen = parser.parse_args()
    chosen.preload |= chosen.tokens
    return chosen


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
        theirs = self.server.environment()
        paths = [os.path.join(ROOT, "build", "lib"), theirs.pop("LD_LIBRARY_PATH", "")]
        inherited = {name: value for name, value in os.environ.items()
                     if name in ("PATH", "LANG") or name.startswith("SLAB_")}
        return {"SLAB_CONTROL": "on", **inherited, "HOME": self.folder, **theirs, **more,
                "LD_LIBRARY_PATH": ":".join(filter(None, paths))}

    def preloads(self):
        if self.chosen.tokens:
            return [os.path.join(ROOT, "build", "lib", "libslab_malloc.so.0")]
        if self.chosen.preload:
            return [os.path.join(ROOT, "build", "lib", name) for name in self.server.preloads]
        return [self.server.steps.path("untyped.so")] if self.chosen.check else []

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
        environment = self.environment(LD_PRELOAD=":".join(self.preloads()))
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


def flags(steps):
    """For dirsrv/servers/build/cc: the header before each source, libslab behind each program."""
    library = os.path.join(ROOT, "build", "lib")
    return {"TYPED_CFLAGS": f"-I{ROOT}/include -I{steps.path('typed')} -include {steps.path('typed')}/typed-caches.h",
            "TYPED_LIBS": f"-L{library} -lslab -Wl,-rpath,{library}"}


def copy_tree(source, target):
    """What an interrupted copy left in the target goes."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True)


def token_flags(steps):
    """For cc: the header with attributes before each source; what passes types on and the archive behind each program. A library
    that has the allocation functions has the former alone: TYPED_WRAPPERS."""
    library = os.path.join(ROOT, "build", "lib")
    return {"TYPED_CC": "clang-22",
            "TYPED_CFLAGS": f"-fsanitize=alloc-token -fsanitize-alloc-token-extended -include {steps.path('typed', 'tokens.h')}",
            "TYPED_WRAPPERS": steps.path("typed", "tokens.a"), "TYPED_LIBS": f"{library}/libslab_token.a -ldl"}


def pass_tokens(server):
    """The header and the archive: each allocation function of the server, and its wrapper in a file of its own; and casts."""
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
        steps.run(["clang-22", "-O2", "-fPIC", f"-I{ROOT}/include", "-c", source, "-o", objects[-1]], "build.log")
    with open(steps.path("typed", "tokens.h"), "w", encoding="utf-8") as file:
        file.writelines(header)
    steps.run(["ar", "rcs", steps.path("typed", "tokens.a"), *objects], "build.log")


def fetch(server, chosen):
    if chosen.source:
        copy_tree(chosen.source, server.original)
    else:
        get_source(server, server.original, chosen.tag)


def table(server):
    return os.path.join(ROOT, "dirsrv", "servers", "patches", f"{server.name}.table")


def convert(server):
    """A fresh copy of the source: an interrupted conversion begins anew."""
    steps = server.steps
    copy_tree(server.original, server.source)
    shutil.rmtree(steps.path("typed"), ignore_errors=True)
    steps.run([os.path.join(ROOT, "dirsrv", "servers", "patches", "convert"), table(server), server.source,
               steps.path("typed")], "convert.log")


def build(server, chosen):
    steps = server.steps
    steps.once("source", 5, lambda: fetch(server, chosen))
    say(f"{server.program} {server.version()}; tested with {' and '.join(server.tested)}")
    if not chosen.preload:
        steps.once("convert", 150, lambda: convert(server))
    if chosen.tokens:
        steps.once("tokens", 2, lambda: pass_tokens(server))
        server.build(token_flags(steps))
    else:
        server.build({} if chosen.preload else flags(steps))
    steps.run(["gcc", "-O2", "-fPIC", "-shared", f"-I{ROOT}/include", os.path.join(HERE, "untyped.c"), "-o",
               steps.path("untyped.so")], "build.log")


def is_comment(line):
    """A line of grep -n that has nothing but a comment."""
    return re.match(r"[^:]*:\d+:\s*/\*.*\*/\s*$", line)


def scan(server):
    """Untyped allocations of listed types in the converted sources."""
    generate = os.path.join(ROOT, "dirsrv", "servers", "patches", "generate.py")

    def ask(what):
        return subprocess.run([sys.executable, generate, table(server), what], check=True,
                              capture_output=True, text=True).stdout.strip()

    found = []
    for pattern, files in (("scan", "files"), ("scan_context", "context_files")):
        done = subprocess.run(["sh", "-c", f'grep -nE "$0" {ask(files).replace(chr(10), " ")} /dev/null',
                               ask(pattern)], cwd=server.source, capture_output=True, text=True, check=False)
        found += [line for line in done.stdout.splitlines() if not is_comment(line)]
    return found


def verdict(text, good):
    print(f"   {'ok  ' if good else 'FAIL'} {text}")
    return good


def check_log(run, status):
    """What the server wrote when it ended: untyped frees and leaks."""
    with open(run.log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    good = verdict(f"the server ended with status {status}", status == 0)
    if not run.chosen.preload:
        found = re.search(r"untyped: (\d+) of (\d+) frees", text)
        good &= verdict(f"untyped frees of typed objects: {found.group(0)[9:] if found else 'no count'}",
                        bool(found) and found.group(1) == "0")
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
        finally:
            status = run.stop()
        if chosen.check:
            if not chosen.preload:
                left = scan(server)
                good &= verdict(f"untyped allocations of listed types: {len(left)}", not left)
                print("\n".join(f"     {line}" for line in left))
            good &= check_log(run, status)
        return good


def place(chosen):
    """Where everything of this server is: each source, and what is not converted, has its own."""
    source = os.path.basename(os.path.abspath(chosen.source)) if chosen.source else chosen.tag
    names = [chosen.server, source and source.replace("/", "-"), "tokens" if chosen.tokens else "stock" if chosen.preload else None]
    return os.path.join(ROOT, "build", "servers", "-".join(filter(None, names)))


def main():
    chosen = options()
    folder = place(chosen)
    server = SERVERS[chosen.server](Steps(folder), not chosen.preload)
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
