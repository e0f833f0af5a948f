# SPDX-License-Identifier: MIT
"""The same requests to ldapd and to Debian's slapd: same result codes, matched DNs and entries.

usage: differential_test.py LDAPD [REQUESTS [SEED]]
Differences that EXPLAINED names are counted; any other one fails. Without slapd: status 77.
"""
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile

import ldap
import ldap.filter
import ldap.modlist

from server import PASSWORD, ROOT, SUFFIX, Server, until

SLAPD = shutil.which("slapd", path=os.environ["PATH"] + ":/usr/sbin")
SLAPD_ROOT = "cn=admin," + SUFFIX
PEOPLE, GROUPS = "ou=people," + SUFFIX, "ou=groups," + SUFFIX
ALWAYS = "cn=always," + GROUPS  # a member that stays: ldapd knows no attributes that a class demands
CONFIG = """include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "{suffix}"
rootdn "{root}"
rootpw {password}
directory {folder}/data
dbnosync
"""
DN_TYPES = {"member", "manager"}
NAMES = ["Ann Doe", "bob  Smith", "J\u00e4ger", "carl O'Neil", "Dora, Esq", "eve", "ann(x)*y\\z"]
TYPES = ["uid", "cn", "mail", "sn", "manager", "telephoneNumber", "objectClass", "description",
         "nothing", "uidNumber", "homeDirectory", "member", "title",
         "2.5.4.3", "surname", "employeeNumber"]
VALUES = ["u1", "u1*", "Ann doe", "*doe", "a*d*", "S1", "u*@example.com", "*1@*", "+49 3-9",
          "+4939", "uid=u1," + PEOPLE, "UID=u2, " + PEOPLE, "inetOrgPerson", "person",
          "posixaccount", "*", "some text*", "*text 4", "J\u00e4ger", "*\u00c4g*", "7", "-43",
          "130", "/home/U1", "/home/*", "dr.", "ann\\28x\\29\\2ay\\5cz", "*\\2a*", "2.5.6.6",
          "* text*", "an*n*", " ann   doe "]

# Why the servers differ: kind of request, slapd's code, ldapd's code, and the reason.
EXPLAINED = [
    ("modify", ldap.NAMING_VIOLATION, ldap.NOT_ALLOWED_ON_RDN,
     "removing a value of the RDN is notAllowedOnRDN by RFC 4511"),
    ("modify", ldap.TYPE_OR_VALUE_EXISTS, ldap.CONSTRAINT_VIOLATION,
     "one more value, which is there already, of a type with a single value breaks two rules"),
    ("modify", ldap.NO_SUCH_OBJECT, ldap.TYPE_OR_VALUE_EXISTS,
     "ldapd checks for values given twice before it looks for the entry"),
    ("modify", ldap.NO_SUCH_ATTRIBUTE, ldap.TYPE_OR_VALUE_EXISTS,
     "ldapd checks for values given twice before it looks for the attribute"),
    ("*", ldap.UNWILLING_TO_PERFORM, ldap.NO_SUCH_OBJECT,
     "slapd has no superior server to name for a DN outside of its naming contexts"),
]


def ldif(choice):
    """The directory: 150 people and ten groups."""
    text = f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n"
    for unit in ("people", "groups"):
        text += f"dn: ou={unit},{SUFFIX}\nobjectClass: organizationalUnit\nou: {unit}\n\n"
    for i in range(150):
        text += f"dn: uid=u{i},{PEOPLE}\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\n" \
                f"uid: u{i}\nuidNumber: {i * 7 - 50 if i * 7 >= 50 else i}\ngidNumber: {i}\n" \
                f"homeDirectory: /home/U{i}\nsn: S{i % 7}\nmail: u{i}@example.com\n" \
                f"telephoneNumber: +49 {i}-{i * 3}\ncn: {NAMES[i % 7]}\n"
        text += f"manager: uid=u{i % 5},{PEOPLE}\n" if i % 3 == 0 else ""
        text += f"description: some  text {i}\n" if i % 4 == 0 else ""
        text += f"employeeNumber: {i}\ntitle: Dr.\n" if i % 6 == 0 else ""
        text += "\n"
    for i in range(10):
        members = "".join(f"member: uid=u{k},{PEOPLE}\n" for k in choice.sample(range(150), 8))
        text += f"dn: cn=g{i},{GROUPS}\nobjectClass: groupOfNames\ncn: g{i}\nmember: {ALWAYS}\n{members}\n"
    return text


def random_filter(choice, depth):
    """Of all kinds, nested."""
    kind = choice.random()
    if depth == 0 or kind < 0.5:
        sign, value = choice.choice(["=", "=", "=", "=", "=", ">=", "<="]), choice.choice(VALUES)
        return f"({choice.choice(TYPES)}{sign}{value if sign == '=' else value.replace('*', '')})"
    if kind < 0.9:
        parts = "".join(random_filter(choice, depth - 1) for _ in range(choice.randrange(1, 4)))
        return f"({'&' if kind < 0.7 else '|'}{parts})"
    return f"(!{random_filter(choice, depth - 1)})"


def random_search(choice):
    base = choice.choice([SUFFIX, SUFFIX, PEOPLE, "uid=u1," + PEOPLE, "ou=gone," + SUFFIX])
    scope = choice.choice([ldap.SCOPE_BASE, ldap.SCOPE_ONELEVEL, ldap.SCOPE_SUBTREE,
                           ldap.SCOPE_SUBTREE, ldap.SCOPE_SUBORDINATE])
    return ("search", base, scope, random_filter(choice, 2))


def random_change(choice):
    """A modify, delete or add; many of them fail."""
    group, kind = f"cn=g{choice.randrange(12)},{GROUPS}", choice.random()
    if kind < 0.45:
        how = choice.choice([ldap.MOD_ADD, ldap.MOD_DELETE, ldap.MOD_REPLACE])
        members = [f"uid=u{choice.randrange(150)},{PEOPLE}".encode() for _ in range(2)]
        members = [m.upper() if choice.random() < 0.3 else m for m in members]
        count = choice.choice([1, 2]) if how != ldap.MOD_ADD else 1
        always = [ALWAYS.encode()] if how == ldap.MOD_REPLACE else []
        return ("modify", group, [(how, "member", members[:count] + always)])
    if kind < 0.65:
        how = choice.choice([ldap.MOD_DELETE, ldap.MOD_REPLACE, ldap.MOD_ADD])
        names = ["employeeNumber", "uid"] if how == ldap.MOD_DELETE else \
            ["uidNumber", "gidNumber", "employeeNumber", "sn", "uid"]
        name = choice.choice(names)
        value = choice.choice([b"1", b"-5", b"x", b"007", b"0"])
        return ("modify", f"uid=u{choice.randrange(155)},{PEOPLE}", [(how, name, [value])])
    if kind < 0.9:
        return ("add", group, [("objectClass", [b"groupOfNames"]),
                               ("cn", [group[3:group.index(",")].encode()]),
                               ("member", [ALWAYS.encode()])])
    return ("delete", choice.choice([PEOPLE, SUFFIX, GROUPS, group, "cn=x,dc=nowhere"]))


def same_dn(dn):
    return ldap.dn.dn2str([[(name.lower(), value.lower(), flags) for name, value, flags in rdn]
                           for rdn in ldap.dn.str2dn(dn)])


def same_values(name, values):
    """Values as a set; DNs in one spelling, since slapd writes them in its own."""
    if name.lower() in DN_TYPES:
        return sorted(same_dn(value.decode()) for value in values)
    return sorted(values)


def call(client, request):
    kind, rest = request[0], request[1:]
    if kind == "search":
        found = client.search_s(rest[0], rest[1], rest[2], ["*"])
        return sorted((same_dn(dn), sorted((name.lower(), same_values(name, values))
                                           for name, values in entry.items()))
                      for dn, entry in found)
    if kind == "modify":
        client.modify_s(*rest)
    elif kind == "add":
        client.add_s(*rest)
    else:
        client.delete_s(*rest)
    return None


def answer(client, request):
    """Result code, matched DN, entries."""
    try:
        return (ldap.SUCCESS, "", call(client, request))
    except ldap.LDAPError as error:
        return (type(error), same_dn(error.args[0].get("matched") or ""), None)


class Slapd:
    """A slapd with a database of its own, listening at a local socket."""

    def __init__(self, text):
        self.folder = tempfile.mkdtemp(prefix="slapd-test-")
        os.mkdir(self.folder + "/data")
        config, data = self.folder + "/slapd.conf", self.folder + "/data.ldif"
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(suffix=SUFFIX, root=SLAPD_ROOT, password=PASSWORD,
                                     folder=self.folder))
        with open(data, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([SLAPD, "-T", "add", "-q", "-f", config, "-l", data], check=True)
        socket = self.folder + "/socket"
        self.uri = "ldapi://" + socket.replace("/", "%2F")
        self.process = subprocess.Popen([SLAPD, "-f", config, "-h", self.uri, "-d", "0"])
        until(lambda: os.path.exists(socket), "slapd listens")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


def connect(uri, root):
    client = ldap.initialize(uri)
    until(lambda: not isinstance(bind(client, root), ldap.SERVER_DOWN), "a bind")
    return client


def bind(client, root):
    try:
        return client.simple_bind_s(root, PASSWORD)
    except ldap.SERVER_DOWN as error:
        return error


def explanation(request, theirs, ours):
    for kind, slapd, ldapd, reason in EXPLAINED:
        if kind in ("*", request[0]) and (theirs[0], ours[0]) == (slapd, ldapd):
            return reason
    return None


def main():
    if not SLAPD or not os.path.exists("/usr/lib/ldap"):
        print("skipped: slapd is not installed")
        return 77
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    choice = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    text, explained, failures = ldif(choice), collections.Counter(), 0
    with Slapd(text) as slapd, Server(sys.argv[1], ldif=text) as server:
        theirs, ours = connect(slapd.uri, SLAPD_ROOT), connect(server.uri, ROOT)
        for _ in range(requests):
            request = random_search(choice) if choice.random() < 0.6 else random_change(choice)
            expected, got = answer(theirs, request), answer(ours, request)
            reason = expected != got and explanation(request, expected, got)
            if reason:
                explained[reason] += 1
            elif expected != got:
                failures += 1
                print(f"{request}\n  slapd {expected}\n  ldapd {got}"[:2000])
        theirs.unbind()
        ours.unbind()
    for reason, count in explained.items():
        print(f"{count} times: {reason}")
    print(f"{requests} requests, {failures} unexplained differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
