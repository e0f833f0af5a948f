# SPDX-License-Identifier: MIT
"""ldapd as a process: options, signals, what survives it; the same server on malloc.

usage: process_test.py LDAPD | LDAPD-MALLOC
"""
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading

import ldap
import ldap.modlist

import server
from server import ROOT, SUFFIX, Server, client, refused, run_tests, until


def is_on_malloc(program):
    return program.endswith("-malloc")


def wrong_options_are_refused(program):
    for options, error in (
            (["--nonsense", "1"], "unknown setting 'nonsense'"), (["--threads"], "needs a value"),
            (["--threads", "0"], "accepted: a whole number from 1 to 256"), (["-h"], "'-h' is no option"),
            (["--listener", "fast"], "accepted: inline, handoff, accept-thread or multi"),
            (["--ldif", "x", "--packages"], "exclude each other"), (["--rootDN", "nonsense"], "accepted: a DN"),
            (["--suffix", "nonsense"], "accepted: a DN"), (["--rootPassword", "secret"], "rootPassword needs rootDN"),
            (["--listen", "127.0.0.1:3389"], "accepted: ldap://HOST")):
        assert error in refused(program, *options, status=2), options
    assert "the port is above 65535" in refused(program, "--listen", "ldap://127.0.0.1:65536")


def a_root_password_that_cannot_match_is_refused(program):
    for password in ("{SSHA}5en6G6MezRroT3XKqkdPOmY", "p" * 1024):
        said = refused(program, "--rootDN", ROOT, "--rootPassword", password, status=2)
        assert "{CRYPT}" in said and password not in said, said


def words_in_memory(pid, words):
    """Those that the writable memory of a process has."""
    found = set()
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, \
            open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in maps:
            place, rights = line.split()[:2]
            begin, end = (int(number, 16) for number in place.split("-"))
            if not rights.startswith("rw"):
                continue
            mem.seek(begin)
            content = mem.read(end - begin)
            found |= {word for word in words if word.encode() in content}
    return found


def passwords_do_not_stay_in_memory(program):
    """A core file has the hashes that entries have, not the passwords of clients."""
    ann = f"uid=ann,ou=people,{SUFFIX}"
    right, wrong = "correct" + "Horse7", "battery" + "Staple3"
    with Server(program) as running:
        hashed = subprocess.run(["perl", "-e", "print crypt(shift, '$6$salt')", right], text=True, check=True,
                                stdout=subprocess.PIPE).stdout
        client(running, ROOT).modify_s(ann, [(ldap.MOD_REPLACE, "userPassword", b"{CRYPT}" + hashed.encode())])
        for password in (right, wrong):
            try:
                ldap.initialize(running.uri).simple_bind_s(ann, password)
            except ldap.INVALID_CREDENTIALS:
                assert password == wrong
        # The test's own process has them: the search works.
        assert words_in_memory(os.getpid(), {right, wrong}) == {right, wrong}
        assert words_in_memory(running.process.pid, {right, wrong}) == set()
        assert not running.logged(right) and not running.logged(wrong)


def an_address_in_use_is_reported(program):
    with socket.create_server(("127.0.0.1", 0)) as other, tempfile.NamedTemporaryFile() as file:
        for address in (f"ldap://127.0.0.1:{other.getsockname()[1]}", "ldapi://" + file.name.replace("/", "%2F")):
            assert f"{address}: Address already in use" in refused(program, "--listen", address)
        assert os.path.exists(file.name)  # what is no socket stays


def a_search_keeps_the_size_limit(program):
    with Server(program, "--sizeLimit", "1") as running:
        try:
            client(running).search_s(SUFFIX, ldap.SCOPE_SUBTREE)
            raise AssertionError("no limit")
        except ldap.SIZELIMIT_EXCEEDED:
            pass


def the_log_names_the_memory(program):
    with Server(program) as running:
        memory = "malloc" if is_on_malloc(program) else "libslab"
        assert running.logged(f"memory: {memory}"), running.text()


def a_stop_ends_a_load(program):
    people = server.LDIF + "".join(server.person(i) for i in range(100000))
    with tempfile.NamedTemporaryFile("w", suffix=".ldif") as file, \
            tempfile.TemporaryDirectory() as folder:
        file.write(people)
        file.flush()
        command = [program, "--db", folder, "--ldif", file.name, "--fsync", "no",
                   "--listen", "ldap://127.0.0.1:0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            data = os.path.join(folder, "data.mdb")
            until(lambda: os.path.exists(data) and os.path.getsize(data) > 2 << 20,
                  "the load has begun")
            process.terminate()
            _, log = process.communicate(timeout=60)
            assert process.returncode == 0 and "loading ended after" in log, log
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 1 and "did not end" in done.stderr, done


def add_until_refused(connection, number, end=2000):
    """Add entries until the server refuses one; the number of the next, and the error."""
    while number < end:
        entry = {"objectClass": [b"device"], "cn": [b"%d" % number],
                 "description": [b"x" * 20000]}
        try:
            connection.add_s(f"cn={number},{SUFFIX}", ldap.modlist.addModlist(entry))
        except ldap.LDAPError as error:
            return number, error
        number += 1
    return number, None


def a_file_that_cannot_grow_is_an_error_of_one_change(program):
    with tempfile.TemporaryDirectory() as folder:
        with Server(program, "--db", folder) as running:
            connection = client(running, ROOT)
            resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (2 << 20, 4 << 20))
            number, error = add_until_refused(connection, 0)
            assert isinstance(error, ldap.OTHER), error
            assert running.logged("add failed: database: ")
            resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
            number, _ = add_until_refused(connection, number)
        with Server(program, "--db", folder) as running:
            found = client(running).search_s(SUFFIX, ldap.SCOPE_ONELEVEL, "(cn=*)", ["1.1"])
            assert len(found) == number, (len(found), number)


def closed_standard_descriptors_do_no_harm(program):
    with tempfile.TemporaryDirectory() as folder:
        socket_path = os.path.join(folder, "socket")
        with subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", program, "--db",
                               os.path.join(folder, "db"), "--suffix", SUFFIX,
                               "--listen", "ldapi://" + socket_path.replace("/", "%2F")]) as process:
            until(lambda: os.path.exists(socket_path), "the server listens")
            names = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in range(3)]
            process.terminate()
            assert process.wait(60) == 0
        assert names == ["/dev/null"] * 3, names


def a_database_keeps_its_limit(program):
    """Deleting takes a little room, too, of which LMDB keeps none: a larger limit helps."""
    with tempfile.TemporaryDirectory() as folder:
        with Server(program, "--db", folder, "--mapLimit", "1M") as running:
            connection = client(running, ROOT)
            number, error = add_until_refused(connection, 0)
            assert isinstance(error, ldap.UNWILLING_TO_PERFORM), error
            assert error.args[0]["info"] == "the database is full: its map has reached the configured limit", error
            assert len(connection.search_s(SUFFIX, ldap.SCOPE_ONELEVEL, "(cn=*)")) == number
            assert server.monitored(connection, "mapBytes", "cn=database,cn=monitor") <= 1 << 20
        with Server(program, "--db", folder) as running:
            assert add_until_refused(client(running, ROOT), number, number + 1)[0] == number + 1


def an_attribute_has_a_hundred_thousand_values(program):
    members = [f"uid=u{i},{SUFFIX}".encode() for i in range(100000)]
    group = f"cn=all,{SUFFIX}"
    with Server(program) as running:
        connection = client(running, ROOT)
        connection.add_s(group, [("objectClass", [b"groupOfNames"]), ("member", members)])
        connection.modify_s(group, [(ldap.MOD_DELETE, "member", members[500:1500])])
        _, entry = connection.search_s(group, ldap.SCOPE_BASE)[0]
        assert len(entry["member"]) == 99000
        for change, changed, code in ((ldap.MOD_ADD, [b"uid=new," + SUFFIX.encode()], "SUCCESS"),
                                      (ldap.MOD_ADD, [b"UID=u7 , " + SUFFIX.encode()], "TYPE_OR_VALUE_EXISTS"),
                                      (ldap.MOD_DELETE, [members[1], members[500]], "NO_SUCH_ATTRIBUTE")):
            assert server.outcome(connection.modify_s, group, [(change, "member", changed)])[0] == code
        for find, count in ((f"(member=UID=NEW,{SUFFIX})", 1), (f"(member=uid=u500,{SUFFIX})", 0),
                            (f"(member=uid=u499,{SUFFIX})", 1)):
            assert len(connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, find, ["1.1"])) == count, find


def reclaims(connection):
    """Whether the entry cache has given memory back. Meanwhile the server may be busy."""
    try:
        return connection.search_s("cn=entry cache,cn=monitor", ldap.SCOPE_BASE, "(reclaims>=1)",
                                   ["reclaims"])
    except ldap.BUSY:
        return False


def a_search_goes_on_while_the_entry_cache_gives_memory_back(program):
    ldif = server.LDIF + "".join(server.person(i, 500) for i in range(5000))
    with Server(program, "--memoryLimit", "6M", ldif=ldif) as running:
        connection = client(running)
        for _ in range(3):
            assert len(connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE)) == 5003
        until(lambda: reclaims(connection), "the entry cache gives memory back")


def a_list_of_too_many_attributes_is_refused(program):
    with Server(program) as running:
        connection = client(running)
        names = [f"x{i}" for i in range(1024)]
        assert connection.search_s(SUFFIX, ldap.SCOPE_BASE, attrlist=names)
        try:
            connection.search_s(SUFFIX, ldap.SCOPE_BASE, attrlist=names + ["y"])
            raise AssertionError("not refused")
        except ldap.ADMINLIMIT_EXCEEDED:
            pass


def a_socket_that_was_left_behind_is_replaced(program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "left")
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(path)
        address = "ldapi://" + path.replace("/", "%2F")
        with Server(program, "--listen", address) as running:
            until(lambda: running.logged("left"), "the server listens there")
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(path)
            assert "another process listens there" in refused(program, "--listen", address)


# --- ldapd-malloc ---

def a_search_is_answered(program):
    with Server(program) as running:
        found = client(running).search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=ann)", ["cn"])
        assert found == [(f"uid=ann,ou=people,{SUFFIX}", {"cn": [b"Ann Archer"]})], found


def writes_are_seen_by_searches(program):
    with Server(program) as running:
        connection = client(running, ROOT)
        name = f"uid=bea,ou=people,{SUFFIX}"
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
    wrong_options_are_refused,
    a_root_password_that_cannot_match_is_refused,
    passwords_do_not_stay_in_memory,
    an_address_in_use_is_reported,
    a_search_keeps_the_size_limit,
    the_log_names_the_memory,
    a_stop_ends_a_load,
    a_file_that_cannot_grow_is_an_error_of_one_change,
    closed_standard_descriptors_do_no_harm,
    a_database_keeps_its_limit,
    an_attribute_has_a_hundred_thousand_values,
    a_search_goes_on_while_the_entry_cache_gives_memory_back,
    a_list_of_too_many_attributes_is_refused,
    a_socket_that_was_left_behind_is_replaced,
]
MALLOC_TESTS = [
    the_log_names_the_memory,
    a_search_is_answered,
    writes_are_seen_by_searches,
    threads_may_open_and_close_connections,
    the_monitor_has_no_caches,
    a_memory_limit_gives_a_warning,
]


run_tests(MALLOC_TESTS if is_on_malloc(sys.argv[1]) else TESTS, sys.argv[1], sys.argv[2:])
