#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""redis, recompiled with types (docs/types.md): gets Debian's source, compiles it by clang 22 with tokens and without, loads both
by redis-benchmark in turn under libslab_malloc.so, and prints the live bytes by type, and what types cost.

usage: redis.py [ROUNDS]; needs ./run build, clang-22, make, dpkg-dev
"""
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "dirsrv/servers"))
from shares import live_bytes, named  # noqa: E402 pylint: disable=wrong-import-position
from steps import Failure, Steps, apt_source, say  # noqa: E402 pylint: disable=wrong-import-position

BUILD = os.path.join(ROOT, "build")
PORT = 7811
TICKS = os.sysconf("SC_CLK_TCK")

# What redis gets: attributes on its allocation functions, with the place of the size among the arguments; what
# passes their types on; and a type for its strings, which are allocated as bytes.
SIZES = {"1": "zmalloc zcalloc ztrymalloc ztrycalloc zmalloc_usable zcalloc_usable ztrymalloc_usable ztrycalloc_usable",
         "1, 2": "zcalloc_num", "2": "zrealloc ztryrealloc zrealloc_usable ztryrealloc_usable"}
STRINGS = """
struct sds_string { char byte; };
#define SDS_BYTES(n) (sizeof(struct sds_string) * (n))
#define s_malloc_usable(n, u) ((void *)(struct sds_string *)zmalloc_usable(SDS_BYTES(n), u))
#define s_trymalloc_usable(n, u) ((void *)(struct sds_string *)ztrymalloc_usable(SDS_BYTES(n), u))
#define s_realloc_usable(p, n, u) ((void *)(struct sds_string *)zrealloc_usable(p, SDS_BYTES(n), u))
#define s_realloc(p, n) ((void *)(struct sds_string *)zrealloc(p, SDS_BYTES(n)))
"""


def edit(path, change):
    with open(path, encoding="utf-8") as file:
        text = change(file.read())
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def add_types(source):
    wrappers = ["", '#include "zmalloc.h"', "#include <slab/token.h>"]

    def attributes(text):
        for place, names in SIZES.items():
            for name in names.split():
                parameters = re.search(rf"^void \*{name}\((.*)\);$", text, re.M)[1]
                arguments = ", ".join(re.findall(r"(\w+)(?:,|$)", parameters))
                wrappers.append(f"SLAB_TOKEN_WRAPPER(void *, {name}, ({parameters}), ({arguments}))")
                text = re.sub(rf"^(void \*{name}\(.*\));$", rf"\1 __attribute__((alloc_size({place})));", text, flags=re.M)
        return text

    def strings(text):
        text = re.sub(r"^#define s_(malloc_usable|trymalloc_usable|realloc_usable|realloc) .*\n", "", text, flags=re.M)
        return text.replace("\n#endif", STRINGS + "#endif")

    edit(f"{source}/src/zmalloc.h", attributes)
    edit(f"{source}/src/zmalloc.c", lambda text: text + "\n".join(wrappers) + "\n")
    edit(f"{source}/src/sdsalloc.h", strings)


class Redis:
    """One of the two, built once."""

    def __init__(self, steps, name):
        self.steps, self.name, self.folder = steps, name, steps.path(name)
        steps.once(f"compile redis: {name}", 200, self.build)

    def build(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.steps.path("source"), self.folder)
        flags, libraries = "-g", ""
        if self.name == "typed":
            add_types(self.folder)
            flags += f" -fsanitize=alloc-token -fsanitize-alloc-token-extended -I{ROOT}/include"
            # redis puts these before its own files, so the archive needs a reason to be taken.
            libraries = f"-Wl,-u,__alloc_token_malloc {BUILD}/lib/libslab_token.a -ldl"
        self.steps.run(["make", f"-j{os.cpu_count()}", "MALLOC=libc", "CC=clang-22", "USE_SYSTEMD=no", "BUILD_TLS=no",
                        "OPTIMIZATION=-O2", f"REDIS_CFLAGS={flags}", f"REDIS_LDFLAGS={libraries}"],
                       f"{self.name}.log", self.folder)

    def load(self, show):
        """Seconds of CPU in the program, and resident bytes, after a load."""
        environment = dict(os.environ, LD_PRELOAD=f"{BUILD}/lib/libslab_malloc.so.0")
        with subprocess.Popen([f"{self.folder}/src/redis-server", "--port", str(PORT), "--save", ""],
                              env=environment, stdout=subprocess.DEVNULL) as server:
            try:
                time.sleep(1)
                subprocess.run([f"{self.folder}/src/redis-benchmark", "-p", str(PORT), "-q", "-n", "200000", "-r", "100000",
                                "-P", "16", "-t", "set,lpush,sadd,hset,zadd"], check=True, stdout=subprocess.DEVNULL)
                with open(f"/proc/{server.pid}/stat", encoding="ascii") as file:
                    used = int(file.read().rpartition(")")[2].split()[11]) / TICKS
                with open(f"/proc/{server.pid}/status", encoding="ascii") as file:
                    resident = int(re.search(r"RssAnon:\s+(\d+)", file.read())[1])
                if show:
                    show_types(server.pid)
                return used, resident
            finally:
                server.terminate()


def show_types(pid):
    """Live bytes by type, the classes of a type together."""
    answer = subprocess.run([f"{BUILD}/bin/slabinfo", "--json", "--pid", str(pid)], check=True, capture_output=True).stdout
    types = live_bytes(json.loads(answer))
    every = sum(types.values())
    print(f"{'live bytes':>12}     %  type")
    for name, number in types.most_common(18):
        print(f"{number:12} {100 * number / every:5.1f}  {name}")
    print(f"{100 * named(types):.1f} % of {every} bytes have a type with a name")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    steps = Steps(os.path.join(BUILD, "servers/redis"))
    if not shutil.which("clang-22"):
        raise Failure("clang-22 is not installed")
    if not glob.glob(steps.path("*.dsc")) and not apt_source("redis", steps.folder):
        raise Failure("Debian's source of redis cannot be had")
    steps.once("unpack redis", 5, lambda: steps.run(["dpkg-source", "-x", glob.glob(steps.path("*.dsc"))[0], "source"], "source.log"))
    variants = [Redis(steps, name) for name in ("typed", "plain")]
    results = {redis.name: [] for redis in variants}
    for number in range(rounds):
        say(f"load, round {number + 1} of {rounds}")
        for redis in variants:
            results[redis.name].append(redis.load(redis.name == "typed" and number == 0))
    for index, what in enumerate(("CPU seconds", "resident KiB")):
        typed, plain = (statistics.median(one[index] for one in results[name]) for name in ("typed", "plain"))
        print(f"{what:12}  with types {typed:9.2f}  without {plain:9.2f}  ratio {typed / plain:.3f}")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"redis.py: {failure}")
