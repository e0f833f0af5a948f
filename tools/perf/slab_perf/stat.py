# SPDX-License-Identifier: MIT
"""slab-perf stat: one row for each cache that left a fast path."""
from . import bpf, table

# A histogram of ns in quarters of powers of two: 4 * log2 + two bits behind the leading one.
BUCKET = """
    $v = nsecs - @begin[tid, CACHE]; $x = $v; $log = (uint64)0;
    if ($x >> 16) { $log += 16; $x = $x >> 16; }
    if ($x >> 8) { $log += 8; $x = $x >> 8; }
    if ($x >> 4) { $log += 4; $x = $x >> 4; }
    if ($x >> 2) { $log += 2; $x = $x >> 2; }
    if ($x >> 1) { $log += 1; }
    if ($log >= 2) { @latency[$log * 4 + (($v >> ($log - 2)) & 3), NAME] = count(); }
    delete(@begin[tid, CACHE]);"""
LARGE = '"size-large"'  # the row of allocations that are too large for a cache


def bucket_of(cache, name):
    """Count the latency of what began in this thread with this cache."""
    return BUCKET.replace("CACHE", cache).replace("NAME", name)



BLOCKS = [
    ("alloc_miss", "", "@alloc_miss[str(arg0)] = count();"),
    ("alloc_slow_begin", "", "@alloc_slow[str(arg0)] = count(); @begin[tid, arg1] = nsecs;"),
    ("alloc_slow_end", "@begin[tid, arg1]", bucket_of("arg1", "str(arg0)")),
    ("alloc_failed", "", "@alloc_failed[str(arg0)] = count();"),
    ("bulk_miss", "", "@alloc_miss[str(arg0)] = count();"),
    ("large_alloc_begin", "", f"@alloc_slow[{LARGE}] = count(); @begin[tid, 0] = nsecs;"),
    ("large_alloc_end", "@begin[tid, 0]", bucket_of("0", LARGE)),
    ("large_alloc_end", "arg1 == 0", f"@alloc_failed[{LARGE}] = count();"),
    ("large_free", "", f"@free_slow[{LARGE}] = count();"),
    ("free_slow", "", "@free_slow[str(arg0)] = count();"),
    ("slab_new", "", "@slab_new[str(arg0)] = count();"),
    ("slab_free", "", "@slab_free[str(arg0)] = count();"),
]
COUNTS = ("alloc_miss", "alloc_slow", "alloc_failed", "free_slow", "slab_new", "slab_free")
PERCENTILES = (50, 90, 99, 100)
HEAD = ["cache", "alloc miss", "slow", "failed", *(f"p{p} us" for p in PERCENTILES[:-1]), "max us",
        "free slow", "slabs new", "freed"]


def bucket_end(bucket):
    """The upper end in µs: at most a quarter above the value."""
    log, part = divmod(bucket, 4)
    return 2 ** log * (5 + part) / 4 / 1000


def percentile(buckets, percent):
    """buckets: {bucket: count}. None: it has no values."""
    left = sum(buckets.values()) * percent / 100
    for bucket in sorted(buckets):
        left -= buckets[bucket]
        if left <= 0:
            return bucket_end(bucket)
    return None


def latencies(counts):
    """{"BUCKET,CACHE": count} to {cache: {bucket: count}}."""
    caches = {}
    for key, count in counts.items():
        bucket, cache = key.split(",", 1)
        caches.setdefault(cache, {})[int(bucket)] = count
    return caches


def rows(maps):
    """Those with the most slow operations first."""
    latency = latencies(maps.get("latency", {}))
    caches = {cache for name in COUNTS for cache in maps.get(name, {})}
    found = []
    for cache in caches:
        n = {name: maps.get(name, {}).get(cache, 0) for name in COUNTS}
        found.append([
            cache, n["alloc_miss"], n["alloc_slow"], n["alloc_failed"],
            *(percentile(latency.get(cache, {}), p) for p in PERCENTILES), n["free_slow"],
            n["slab_new"], n["slab_free"]])
    return sorted(found, key=lambda row: (-row[1] - row[2] - row[8], row[0]))


def run(options):
    target, seconds, maps = bpf.trace(options, BLOCKS)
    print(f"{seconds:.1f} s of {target.name} ({target.pid})")
    table.show(HEAD, rows(maps))
