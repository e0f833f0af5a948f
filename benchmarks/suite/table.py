# SPDX-License-Identifier: MIT
"""The benchmarks that ./run bench runs, in their order: what each is about, and how it is run.

Seconds were measured on two idle CPUs, once all is built; the runner corrects them by what it
has seen. All lines of --quick together take less than QUICK_LIMIT_S.
"""
import collections

QUICK_LIMIT_S = 180

# quick: the options under --quick. cases: their names, a dot with a star for several.
Benchmark = collections.namedtuple("Benchmark", "name question cases quick quick_s full_s")

TABLE = [
    Benchmark("debug", "the cost of debugging", "pair many memory", ("1",), 4, 30),
    Benchmark("eviction", "policies of the entry cache", "directory dependencies zipf", (), 3, 3),
    Benchmark("latency", "the cost of a large heap for other threads",
              "shrink validate trim caches cold destroy decay", ("100000",), 6, 60),
    Benchmark("inspect", "the cost of being inspected", "none top=1 top=0.1 openmetrics",
              ("100000", "1", "--seconds", "1", "--observers", "none,top=1", "--threads", "1"),
              10, 840),
    Benchmark("pblock", "the objects of a directory server",
              "lives traces blocks entry-cache", ("--quick",), 25, 300),
    Benchmark("micro", "small cases under Google Benchmark",
              "pair/* bulk/* singles/* remote_free/*",
              ("--benchmark_min_time=0.005", "--benchmark_repetitions=5"), 5, 300),
    Benchmark("objects", "the classic slab benchmark",
              "pair in_order.* random.* cold.* all.* all_to_one.* one_to_all.* ring.* "
              "lifetimes.* survivors.* trace threads.* singles.* bulk.* memory.*",
              ("--quick", "--rounds", "1", "--sizes", "64,712", "--cases", "^(?!.*trace)",
               "--contestants", "slab,glibc,jemalloc,tcmalloc,mimalloc,empty"), 30, 2400),
    Benchmark("slides", "libslab, SLAB, SLOB and sheaves: the tables of Lameter's slides",
              "cycles memory hackbench modes trapped unused block",
              ("--quick", "--cases", "cycles|memory|modes"), 5, 600),
    Benchmark("malloc", "libslab in malloc's place: classic loads, large blocks, small programs",
              "larson threads.* stress remote scratch thrash migrate.* directory.* grow.* "
              "large.* classes limit program.*",
              ("--quick", "--idle", "1", "--contestants", "slab,glibc,jemalloc", "--cases",
               "larson|threads|remote|directory|grow.strings|program"), 10, 1800),
    Benchmark("memory", "memory after a peak, under load, and of small processes",
              "peak.* churn rcu directory small",
              ("--quick", "--cases", "peak.objects|small", "--contestants", "slab,glibc"), 16, 7200),
    Benchmark("servers", "redis, slapd and ns-slapd with libslab in malloc's place",
              "redis slapd ns-slapd",
              ("--quick", "--idle", "1", "--cases", "redis", "--contestants", "slab,glibc"), 20,
              2400),
    Benchmark("listener", "four forms of a server's listener: idle connections, stalls, accepts; "
              "the same server on other allocators",
              "busy idle short stall accept mix share",
              ("--quick", "--contestants", "inline,handoff,slab,glibc", "--cases", "busy|short|mix"),
              22, 1400),
]


def seconds(benchmark, quick):
    return benchmark.quick_s if quick else benchmark.full_s


def spoken(count):
    """Seconds for readers."""
    if count < 90:
        return f"{count:.0f} s"
    if count < 5400:
        return f"{count / 60:.0f} min"
    return f"{count / 3600:.1f} h"


def listed():
    """What --list prints."""
    lines = [f"{'benchmark':<10} {'quick':>6} {'full':>7}  question"]
    for benchmark in TABLE:
        lines.append(f"{benchmark.name:<10} {spoken(benchmark.quick_s):>6} "
                     f"{spoken(benchmark.full_s):>7}  {benchmark.question}")
        lines.append(f"{'':<26} cases: {benchmark.cases}")
    total = [spoken(sum(seconds(benchmark, quick) for benchmark in TABLE))
             for quick in (True, False)]
    return "\n".join(lines + [f"{'all':<10} {total[0]:>6} {total[1]:>7}"])
