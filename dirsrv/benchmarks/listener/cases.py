# SPDX-License-Identifier: MIT
"""The cases: what ldapload does to a server in each, and which servers take part."""
import collections
import os

CPUS_PER_THREAD = 4  # of the client; the server needs the others
LISTENERS, ALLOCATORS = "listeners", "allocators"  # what a case compares
# per_connection: operations, then a new connection; 0: one connection until the end.
# longer: times the seconds of a case; a stall of 2 seconds needs several of them.
Case = collections.namedtuple("Case", "title compares idle stall per_connection unit longer")

CASES = {
    "busy": Case("searches on {connections} connections", LISTENERS, False, False, 0, "all", 1),
    "idle": Case("the same, with {idle:,} idle connections", LISTENERS, True, False, 0, "all", 1),
    "short": Case("10 searches per connection", LISTENERS, False, False, 10, "all", 1),
    "stall": Case("the same, with a stall of 2 s in 1 of 100 accepts", LISTENERS, False, True, 10,
                  "all", 3),
    "accept": Case("1 search per connection: connections", LISTENERS, False, False, 1, "connect", 1),
    "mix": Case("the mix on {connections} connections", ALLOCATORS, False, False, 100, "all", 4),
    "share": Case("the mix, sampled by perf", ALLOCATORS, False, False, 100, "all", 2),
}

# Of the mix, a client with the root's name; and at the same time another one, which asks for all
# entries with one title: ENTRIES / TITLES of them.
MIX = "search=60,base=10,or=10,compare=6,modify=8,add=6"
TITLES, LARGE_CONNECTIONS, LARGE_RATE = 40, 4, 20

# What the seed measured on two CPUs of 2005, operations or connections a second.
SEED = {
    "busy": {"inline": 18450, "handoff": 18845},
    "idle": {"inline": 8748, "handoff": 11383},
    "stall": {"inline": 505, "handoff": 10659, "accept-thread": 806},
    "accept": {"handoff": 510, "accept-thread": 5230},
}


def title(name, connections, idle):
    return CASES[name].title.format(connections=connections, idle=idle)


def client(settings, port):
    """ldapload's command line, for all loads."""
    return [settings.client, "--uri", f"ldap://127.0.0.1:{port}", "--json",
            "--warm-up", str(settings.warm_up), "--base", "ou=People,dc=example,dc=com"]


def options(case, settings, entries):
    """The rest of it for a case."""
    threads = max(len(os.sched_getaffinity(0)) // CPUS_PER_THREAD, 1)
    words = ["--connections", str(settings.connections),
             "--threads", str(min(threads, settings.connections)),
             "--seconds", str(settings.seconds * case.longer), "--values", f"user%u:0-{entries - 1}"]
    if case.idle:
        words += ["--idle", str(settings.idle)]
    if case.per_connection:
        words += ["--per-connection", str(case.per_connection)]
    return words


def mix_options(root, password):
    return ["--bind-dn", root, "--password", password, "--mix", MIX]


def large_options(case, settings):
    """Of the second client of the mix."""
    return ["--connections", str(LARGE_CONNECTIONS), "--rate", str(LARGE_RATE),
            "--seconds", str(settings.seconds * case.longer),
            "--attribute", "title", "--values", f"Engineer %u:0-{TITLES - 1}"]
