# SPDX-License-Identifier: MIT
"""ldapd-malloc: the same server on malloc.

usage: malloc_test.py LDAPD_MALLOC
"""
import sys
import threading

import ldap
import ldap.modlist

from server import PASSWORD, ROOT, SUFFIX, Server, run_tests

PEOPLE = "ou=people," + SUFFIX


def client(running, dn=None):
    connection = ldap.initialize(running.uri)
    connection.set_option(ldap.OPT_NETWORK_TIMEOUT, 60)
    if dn:
        connection.simple_bind_s(dn, PASSWORD)
    return connection


def the_log_names_the_memory(program):
    with Server(program) as running:
        assert running.logged("memory: malloc"), running.text()


def a_search_is_answered(program):
    with Server(program) as running:
        found = client(running).search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=ann)", ["cn"])
        assert found == [(f"uid=ann,{PEOPLE}", {"cn": [b"Ann Archer"]})], found


def writes_are_seen_by_searches(program):
    with Server(program) as running:
        connection = client(running, ROOT)
        name = f"uid=bea,{PEOPLE}"
        entry = {"objectClass": [b"inetOrgPerson"], "uid": [b"bea"], "cn": [b"Bea"], "sn": [b"B"]}
        connection.add_s(name, ldap.modlist.addModlist(entry))
        connection.modify_s(name, [(ldap.MOD_REPLACE, "sn", [b"Baker"])])
        assert connection.compare_s(name, "sn", b"Baker")
        connection.delete_s(name)
        assert not connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=bea)")


def threads_may_open_and_close_connections(program):
    def visit(running):
        for _ in range(100):
            connection = client(running)
            assert connection.search_s(SUFFIX, ldap.SCOPE_BASE)
            connection.unbind_s()

    with Server(program) as running:
        visitors = [threading.Thread(target=visit, args=(running,)) for _ in range(4)]
        for visitor in visitors:
            visitor.start()
        for visitor in visitors:
            visitor.join()
        assert client(running).search_s(SUFFIX, ldap.SCOPE_BASE)


def the_monitor_has_no_caches(program):
    with Server(program) as running:
        base = "cn=caches,cn=monitor"
        connection = client(running)
        assert len(connection.search_s(base, ldap.SCOPE_SUBTREE)) == 1
        memory = connection.search_s("cn=memory,cn=monitor", ldap.SCOPE_BASE,
                                     attrlist=["+"])[0][1]
        assert memory.get("engine") == [b"malloc"], memory


def a_memory_limit_gives_a_warning(program):
    with Server(program, "--memoryLimit", "100M") as running:
        assert running.logged("memoryLimit has no effect"), running.text()


TESTS = [
    the_log_names_the_memory,
    a_search_is_answered,
    writes_are_seen_by_searches,
    threads_may_open_and_close_connections,
    the_monitor_has_no_caches,
    a_memory_limit_gives_a_warning,
]


run_tests(TESTS, sys.argv[1])
