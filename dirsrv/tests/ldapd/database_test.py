# SPDX-License-Identifier: MIT
"""The database of ldapd: what survives the process, which naming context it has, what is loaded; files that cannot be
opened.

usage: database_test.py LDAPD [TEST...]
"""
import contextlib
import ctypes
import os
import sys
import tempfile
import threading

import ldap

from server import LDIF, ROOT, SUFFIX, Server, client, outcome, person, refused, run_tests, tests_of

PEOPLE = "ou=people," + SUFFIX


def add(connection, name, base=SUFFIX):
    return outcome(connection.add_s, f"cn={name},{base}", [("objectClass", [b"device"]), ("cn", [name.encode()])])[0]


def found(connection, find):
    return {dn for dn, _ in connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, find, ["1.1"])}


# --- what survives ---

def change_until_killed(running, prefix, seconds):
    """Add, change and delete entries; returns how many rounds of that were acknowledged."""
    connection, rounds = client(running, ROOT), 0
    killer = threading.Timer(seconds, running.process.kill)
    killer.start()
    with contextlib.suppress(ldap.SERVER_DOWN):
        while True:
            dn = f"cn={prefix}-{rounds},{SUFFIX}"
            connection.add_s(dn, [("objectClass", [b"person"]), ("cn", [dn[3:dn.index(",")].encode()]), ("sn", [b"x"])])
            connection.modify_s(dn, [(ldap.MOD_ADD, "mail", [f"{prefix}-{rounds}@x".encode()])])
            if rounds % 3 == 1:
                connection.delete_s(dn)
            rounds += 1
    killer.join()
    running.kill()
    return rounds


def acknowledged_changes_survive_kill(program):
    """Of the round that was not acknowledged, each change is there in whole or not at all."""
    for fsync in ("no", "yes"):
        with tempfile.TemporaryDirectory() as db:
            rounds = [change_until_killed(Server(program, "--db", db, "--fsync", fsync), f"r{seconds}", seconds)
                      for seconds in (0.02, 0.2, 0.5)]
            with Server(program, "--db", db) as running:
                connection = client(running, ROOT)
                for seconds, count in zip((0.02, 0.2, 0.5), rounds):
                    for i in range(count):
                        expected = set() if i % 3 == 1 else {f"cn=r{seconds}-{i},{SUFFIX}"}
                        assert found(connection, f"(cn=r{seconds}-{i})") == expected, (seconds, i)
                        assert found(connection, f"(mail=r{seconds}-{i}@x)") == expected, (seconds, i)
                assert sum(rounds) and add(connection, "new") == "SUCCESS", rounds
                assert len(found(connection, "(cn=new)")) == 1


def a_temporary_database_leaves_no_files(program):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        try:
            with Server(program):
                assert not os.listdir(folder)
        finally:
            del os.environ["TMPDIR"]


# --- the naming context, loading ---

def naming_context(running):
    return client(running).search_s("", ldap.SCOPE_BASE, attrlist=["namingContexts"])[0][1].get("namingContexts")


def the_first_entry_is_the_naming_context_of_an_empty_database(program):
    with tempfile.TemporaryDirectory() as db:
        with Server(program, "--db", db, ldif="", suffix=None) as running:
            assert naming_context(running) is None
            assert add(client(running, ROOT), "x") == "UNWILLING_TO_PERFORM"
        for _ in range(2):  # it is loaded, and kept
            with Server(program, "--db", db, suffix=None) as running:
                assert naming_context(running) == [SUFFIX.encode()]
        with Server(program, "--db", db, suffix=None) as running:
            assert add(client(running, ROOT), "x", PEOPLE) == "SUCCESS"


def the_database_keeps_the_naming_context_of_the_configuration(program):
    with tempfile.TemporaryDirectory() as db:
        for suffix in ("dc=other", None):
            with Server(program, "--db", db, ldif="", suffix=suffix) as running:
                assert naming_context(running) == [b"dc=other"]


def what_cannot_be_added_is_reported_and_skipped(program):
    bad = f"dn: cn=y,ou=b,{SUFFIX}\nobjectClass: device\ncn: y\n\n" \
          f"dn: cn=z,{SUFFIX}\nobjectClass: person\nmanager: z\n\ndn: ou=people,{SUFFIX}\nobjectClass: device\ncn: x\n"
    first = LDIF.count("\n") + 1
    with Server(program, ldif=LDIF + bad) as running:
        for line, words in ((first, f"cn=y,ou=b,{SUFFIX}: No such object"),
                            (first + 4, f"cn=z,{SUFFIX}: Invalid syntax: manager: value #0 invalid per syntax"),
                            (first + 8, f"ou=people,{SUFFIX}: Already exists")):
            assert running.logged(f"data.ldif:{line}: {words}; this entry is skipped\n"), running.text()
        assert len(found(client(running), "(objectClass=*)")) == 3
    assert refused(program, "--ldif", "/none").endswith("/none: cannot be read: No such file or directory")


# --- what cannot be opened ---

@contextlib.contextmanager
def database(program):
    """Its folder and its file, of a server that has stopped."""
    with tempfile.TemporaryDirectory() as db:
        with Server(program, "--db", db, ldif=LDIF + "".join(map(person, range(100)))):
            pass
        yield db, db + "/data.mdb"


def change_file(path, change):
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        change(data)
        file.seek(0)
        file.write(data)
        file.truncate()


def damaged_files_are_named(program):
    for change, error in (
            (lambda data: data.__setitem__(slice(0, 8192), b"x" * 8192),
             "cannot open the database: data.mdb is damaged, or no file of LMDB; restore it, or load the LDIF into an "
             "empty directory"),
            (lambda data: data.__delitem__(slice(3 * os.sysconf("SC_PAGESIZE"), None)),
             "data.mdb is shorter than it says: its end was lost")):
        with database(program) as (db, data):
            change_file(data, change)
            said = refused(program, "--db", db)
            assert said.endswith(f"{db}: {error}"), said


def an_entry_that_is_damaged_is_reported_and_others_are_served(program):
    """The lengths of texts stand before "uid=p50,…", at the end of the header of 24 bytes."""
    def damage(data):
        at = 0
        while (at := data.find(b"uid=p50,ou=people", at + 1)) >= 0:
            data[at - 8:at - 4] = b"\xff\xff\xff\x7f"

    with database(program) as (db, data):
        change_file(data, damage)
        with Server(program, "--db", db) as running:
            connection = client(running, ROOT)
            answer = outcome(connection.search_s, "uid=p50," + PEOPLE, ldap.SCOPE_BASE)
            assert answer[:2] == ("OTHER", "database: the database is damaged: an entry has bytes that this program "
                                           "never writes"), answer
            assert connection.search_s("uid=p51," + PEOPLE, ldap.SCOPE_BASE)
            assert outcome(connection.delete_s, "uid=p50," + PEOPLE)[0] == "OTHER"


def put_by_lmdb(folder, table, key, value):
    """Change the files as another program does."""
    class Value(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_char_p)]

    lmdb = ctypes.CDLL("liblmdb.so.0")
    env, txn, dbi = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
    for failed in (lmdb.mdb_env_create(ctypes.byref(env)), lmdb.mdb_env_set_maxdbs(env, 1),
                   lmdb.mdb_env_open(env, folder.encode(), 0, 0o600),
                   lmdb.mdb_txn_begin(env, None, 0, ctypes.byref(txn)),
                   lmdb.mdb_dbi_open(txn, table, 0, ctypes.byref(dbi)),
                   lmdb.mdb_put(txn, dbi, *(ctypes.byref(Value(len(text), text)) for text in (key, value)), 0),
                   lmdb.mdb_txn_commit(txn)):
        assert not failed, failed
    lmdb.mdb_env_close(env)


def a_database_of_another_program_or_format_stays_as_it_is(program):
    with tempfile.TemporaryDirectory() as other, database(program) as (own, _):
        put_by_lmdb(other, None, b"key", b"value")
        put_by_lmdb(own, b"texts", b"format", b"ldapd 1")
        for db, error in ((other, "belongs to another program"), (own, "was written by another version of ldapd")):
            with open(db + "/data.mdb", "rb") as file:
                before = file.read()
            assert f"{db}: cannot open the database: data.mdb {error}" in refused(program, "--db", db)
            with open(db + "/data.mdb", "rb") as file:
                assert file.read() == before


def a_second_process_is_refused(program):
    with tempfile.TemporaryDirectory() as db, Server(program, "--db", db):
        assert refused(program, "--db", db).endswith(f"{db}: another process has this database open")


def a_directory_that_cannot_be_written_is_named(program):
    with tempfile.NamedTemporaryFile() as file:
        for db, error in ((file.name, "{}: cannot create the directory of the database: Not a directory"),
                          ("/proc/ldapd", "{}: cannot create the directory of the database: No such file or directory"),
                          # In this one not even root can create files.
                          ("/proc/self", "{}/ldapd.lock: cannot write to the database's directory: ")):
            assert error.format(db) in refused(program, "--db", db)


def wrong_settings_get_a_sentence(program):
    for words, error in ((["--index", "cn", "--index", "commonName"], "index 'cn' is configured twice"),
                         (["--index", "uid eq"], "index 'uid eq': this is no attribute type")):
        assert refused(program, *words).endswith(error)


run_tests(tests_of(globals()), sys.argv[1], sys.argv[2:])
