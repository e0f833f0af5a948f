# SPDX-License-Identifier: MIT
"""All operations at once from several clients, some of which go away in the middle; then a stop.

usage: load_test.py LDAPD [ROUNDS]
In each form of the listener. Nothing may be allocated when the server ends, and nothing reported.
"""
import socket
import struct
import sys
import threading

import ldap
import ldap.modlist

import server
from server import ROOT, SUFFIX, Server, client, element, message, number, outcome, person, search, until

FORMS = ["inline", "handoff", "accept-thread", "multi"]
THREADS = 4
ROUNDS = 2
PEOPLE = "ou=people," + SUFFIX


def refused(error, function, *arguments):
    """The call fails with this error."""
    assert outcome(function, *arguments)[0] == error.__name__


def changes_an_entry(running, name):
    connection = client(running, ROOT)
    dn = f"uid={name},{PEOPLE}"
    entry = {"objectClass": [b"inetOrgPerson"], "uid": [name.encode()], "cn": [b"A B"],
             "sn": [b"B"], "description": [b"x" * 40000]}
    connection.add_s(dn, ldap.modlist.addModlist(entry))
    refused(ldap.ALREADY_EXISTS, connection.add_s, dn, ldap.modlist.addModlist(entry))
    connection.modify_s(dn, [(ldap.MOD_ADD, "mail", [b"a@b", b"c@d"]),
                             (ldap.MOD_REPLACE, "sn", [b"C"])])
    refused(ldap.NO_SUCH_ATTRIBUTE, connection.modify_s, dn, [(ldap.MOD_DELETE, "title", None)])
    assert connection.compare_s(dn, "sn", b"c")
    refused(ldap.NO_SUCH_ATTRIBUTE, connection.compare_s, dn, "title", b"c")
    connection.modify_s(dn, [(ldap.MOD_REPLACE, "userPassword", [b"new"])])
    assert client(running, dn, "new").whoami_s() == "dn:" + dn
    refused(ldap.UNWILLING_TO_PERFORM, connection.rename_s, dn, "uid=b")
    connection.delete_s(dn)
    connection.unbind_s()


def searches(running, _name):
    connection = client(running, ROOT)
    for find in ("(uid=ann)", "(&(sn=1*)(!(uid=p1)))", "(|(cn=*5*)(cn~=person 7)(sn>=9))",
                 "(cn:2.5.13.2:=x)", "(unknown=x)", "(userPassword=x)"):
        connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, find, ["*", "+"])
    refused(ldap.NO_SUCH_OBJECT, connection.search_s, "cn=absent", ldap.SCOPE_BASE)
    assert connection.search_s("", ldap.SCOPE_BASE, attrlist=["*", "+"])
    assert connection.search_s("cn=monitor", ldap.SCOPE_SUBTREE)
    pending = connection.search_ext(SUFFIX, ldap.SCOPE_SUBTREE, sizelimit=3)
    refused(ldap.SIZELIMIT_EXCEEDED, connection.result, pending)
    connection.unbind_s()


def fails_to_bind(running, _name):
    refused(ldap.INVALID_CREDENTIALS, client, running, "uid=ann," + PEOPLE, "wrong")
    refused(ldap.INVALID_CREDENTIALS, client, running, "cn=absent," + SUFFIX, "wrong")
    refused(ldap.INVALID_CREDENTIALS, client, running, "=", "wrong")
    connection = ldap.initialize(running.uri)
    refused(ldap.PROTOCOL_ERROR, connection.start_tls_s)


def abandons(running, _name):
    connection = client(running, ROOT)
    for _ in range(5):
        connection.abandon(connection.search(SUFFIX, ldap.SCOPE_SUBTREE))
    assert connection.whoami_s()
    connection.unbind_s()


def goes_away(running, _name):
    """Without reading; with a part of a message behind whole ones; by a reset."""
    add = message(9, element(0x68, b"\x04\x00\x30\x00"))
    for last in (b"", search(1)[:9], element(0x30, number(3) + element(0x42, b""))):
        stream = socket.create_connection(("127.0.0.1", running.port), 60)
        stream.sendall(b"".join(search(i, SUFFIX, 2) for i in range(1, 9)) + add + last)
        if not last:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.close()


KINDS = [changes_an_entry, searches, fails_to_bind, abandons,
         goes_away]


class Load:
    """Threads that do all kinds in turn, each from another one on."""

    def __init__(self, running, rounds):
        self.running, self.rounds = running, rounds
        self.stopping, self.done, self.failed = False, 0, []
        self.threads = [threading.Thread(target=self.work, args=(number,))
                        for number in range(THREADS)]
        for thread in self.threads:
            thread.start()

    def work(self, own):
        for step in range(self.rounds * len(KINDS)):
            if self.stopping or self.failed:
                return
            kind = KINDS[(own + step) % len(KINDS)]
            try:
                kind(self.running, f"t{own}s{step}")
            except Exception as error:  # pylint: disable=broad-except
                if not self.stopping:
                    self.failed.append(f"{kind.__name__}: {type(error).__name__}: {error}")
            self.done += 1

    def join(self):
        for thread in self.threads:
            thread.join()
        assert not self.failed, self.failed


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    people = server.LDIF + "".join(person(i, 400) for i in range(100))
    for form in FORMS:
        with Server(sys.argv[1], "--listener", form, "--maxOutputBytes", "16384",
                    ldif=people) as running:
            Load(running, rounds).join()
        # The second time the server stops in the middle.
        with Server(sys.argv[1], "--listener", form, ldif=people) as running:
            load = Load(running, rounds)
            until(lambda: load.done >= rounds * THREADS, "a part of the load")
            load.stopping = True
            running.stop()
            load.join()


main()
