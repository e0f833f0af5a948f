# SPDX-License-Identifier: MIT
"""What ldapd answers: values of filters, results of writes and compares, what searches find and how many entries they
look at.

usage: answers_test.py LDAPD [TEST...]
"""
import contextlib
import sys
import tempfile

import ldap

import server
from server import (NOTICE, PASSWORD, ROOT, SUFFIX, Server, client, connect, element, message, monitored, number,
                    outcome, person, read_messages, run_tests, search, tests_of, text, until)

PEOPLE = "ou=people," + SUFFIX
ANN = "uid=ann," + PEOPLE
ADD, DELETE, REPLACE = ldap.MOD_ADD, ldap.MOD_DELETE, ldap.MOD_REPLACE
ALL = "(objectClass=*)"


@contextlib.contextmanager
def directory(program, *options, people=0, ldif=server.LDIF):
    """A client that is bound as root: of a server with this directory, and `people` more."""
    with Server(program, *options, ldif=ldif + "".join(map(person, range(people)))) as running:
        yield client(running, ROOT)


def found(connection, find, base=SUFFIX, scope=ldap.SCOPE_SUBTREE):
    """DNs in the order in which they come."""
    return [dn for dn, _ in connection.search_s(base, scope, find, ["1.1"])]


def values(connection, dn, name):
    entry = connection.search_s(dn, ldap.SCOPE_BASE, attrlist=[name])[0][1]
    return [value.decode() for value in entry.get(name, [])]


def expect(answer, code, info=None, matched=None):
    wrong = answer[0] != code or info not in (None, answer[1]) or matched not in (None, answer[2])
    assert not wrong, (answer, code, info, matched)


# --- filters ---

MANY_RULES = f"""dn: cn=rules,{SUFFIX}
objectClass: inetOrgPerson
uid: rules
cn: rules
cn: Ann  Doe
cn: J\u00c4GER
sn: Doe
description;lang-de;x-y: Gr\u00fc\u00dfe
telephoneNumber: +49 30-12 34
uidNumber: -20
homeDirectory: /home/Ann
manager: CN=Boss , DC=example
createTimestamp: 20260102030405Z
jpegPhoto: p
labeledURI: http://x
colour: Red

"""
T, F, U = "(uid=rules)", "(uid=bo)", "(nothing=x)"
# Where the entry is found by the filter, and where by its negation; where by neither, its value is undefined.
FILTERS = {
    (True, False): [
        # Equality follows the matching rule of the type.
        "(cn=ann doe)", "(cn= ANN   DOE )", "(CommonName=ann doe)", "(2.5.4.3=ann doe)", "(cn=j\u00e4ger)",
        "(cn~=ann doe)", "(telephoneNumber=+49301234)", "(uidNumber=-20)", "(homeDirectory=/home/Ann)",
        "(manager=cn=boss,dc=EXAMPLE)", "(createTimestamp=20260102030405z)", "(colour=red)", "(sn=doe)",
        r"(cn=ann\20doe)",
        # Three values.
        "(&)", f"(&{T}{T})", f"(|{F}{U}{T})", f"(!{F})",
        # Substrings stand in their order.
        "(cn=an*)", "(cn=*doe)", "(cn=*n d*)", "(cn=A*n*d*E)", "(cn=*)", "(cn=ann *oe)", "(cn=*j\u00e4*)",
        "(telephoneNumber=*3 01*)", "(labeledURI=http://*)", "(uid=r*s)", "(uid=rules*)",
        # The order is that of the values.
        "(uidNumber<=-3)", "(uidNumber>=-100)", "(uidNumber<=0)", "(uidNumber>=-20)",
        "(createTimestamp>=20260101000000Z)", "(createTimestamp<=20260102030406Z)", "(colour>=blue)",
        # A superclass matches its subclasses; a type with options is one of its own.
        "(objectClass=person)", "(objectClass=top)", "(objectClass=2.5.6.6)", "(objectClass=INETORGPERSON)",
        "(description;LANG-de;x-y=gr\u00dc\u00dfe)"],
    (False, True): [
        "(cn=anndoe)", "(homeDirectory=/home/ann)", "(sn=do)", "(manager=cn=bos,dc=example)", "(uidNumber=20)",
        "(mail=x)", "(uid=bo)", "(|)", f"(&{T}{U}{F})", f"(|{F}{F})", f"(!{T})", f"(&{U}{F})", "(cn=doe*)",
        "(cn=*ann)", "(cn=*d*n*)", "(uid=r*ul*lles)", "(uid=rules*rules)", "(labeledURI=HTTP://*)", "(uid=*b*)",
        "(uidNumber>=-3)", "(uidNumber>=5)", "(uidNumber<=-21)", "(createTimestamp<=20251231230000Z)",
        "(colour<=blue)", "(objectClass=device)", "(description=*)"],
    (False, False): [
        "(nothing=x)", "(nothing=*)", f"(!{U})", "(uidNumber=x)", "(manager=x)", "(jpegPhoto=p)", "(cn>=a)",
        "(uidNumber=2*)", "(cn:=x)", "(cn=)", "(objectClass=unheardOf)", f"(&{T}{U})", f"(&{U}{T})", f"(|{F}{U})",
        f"(|{U}{F})", f"(!(&{T}{U}))", "(description;lang-de=*)"],
}


def filters_have_three_values(program):
    with directory(program, ldif=server.LDIF + MANY_RULES) as connection:
        for expected, filters in FILTERS.items():
            for one in filters:
                got = tuple(bool(found(connection, each, "cn=rules," + SUFFIX, ldap.SCOPE_BASE))
                            for each in (one, f"(!{one})"))
                assert got == expected, (one, got)


def a_filter_that_is_too_deep_is_refused(program):
    with directory(program) as connection:
        assert found(connection, "(&" * 63 + "(uid=ann)" + ")" * 63) == [ANN]
        expect(outcome(connection.search_s, SUFFIX, ldap.SCOPE_SUBTREE, "(&" * 64 + "(uid=ann)" + ")" * 64),
               "ADMINLIMIT_EXCEEDED")


# --- messages that no library sends ---

def exchange(running, *messages):
    """The operation and the code of the last one's short result, or None: the connection is closed with a notice."""
    with connect(running) as stream:
        for each in messages:
            stream.sendall(each)
            while (last := read_messages(stream, 1)[-1])[5] == 0x64:  # an entry
                pass
    return None if NOTICE in last else (last[5], last[9])


BOUND = message(1, element(0x60, number(3) + text(ROOT) + element(0x80, PASSWORD.encode())))
SEARCHED, ADDED, MODIFIED = 0x65, 0x69, 0x67
ANY_BEFORE_INITIAL = element(0xa4, text("cn") + element(0x30, element(0x81, b"b") + element(0x80, b"a")))
NO_VALUES = element(0x30, element(0x30, text("mail") + element(0x31, b"")))
# Each of many has its own values.
MODIFICATIONS = b"".join(element(0x30, element(10, b"\0") + element(0x30, text("description") + element(
    0x31, text(f"a{i}") + text(f"b{i}")))) for i in range(50))


def control(name, critical):
    return element(0xa0, element(0x30, text(name) + element(1, b"\xff" if critical else b"\0")))


def for_rules(**parts):
    return search(2, "cn=rules," + SUFFIX, attributes=["1.1"], **parts)


def messages_are_taken_apart(program):
    with Server(program, ldif=server.LDIF + MANY_RULES) as running:
        for words, expected in (
                ((for_rules(controls=control("1.2.3.4", False)),), (SEARCHED, 0)),
                ((for_rules(controls=control("1.2.3.4", True)),), (SEARCHED, 12)),
                ((for_rules(controls=control("2.16.840.1.113730.3.4.2", True)),), (SEARCHED, 0)),  # no referrals
                ((for_rules(find=ANY_BEFORE_INITIAL),), (SEARCHED, 2)),
                ((BOUND, message(2, element(0x68, text("cn=x," + SUFFIX) + NO_VALUES))), (ADDED, 2)),
                ((BOUND, message(2, element(0x66, text(ANN) + element(0x30, MODIFICATIONS)))), (MODIFIED, 0)),
                # The password is one byte longer than the message.
                ((message(1, element(0x60, number(3) + text(ROOT) + b"\x80\x03pw")),), (0x61, 2)),
                # No id, no operation, one of servers, an id that none may have.
                ((element(0x30, b""),), None), ((element(0x30, number(1)),), None),
                ((message(1, element(0x64, b"x")),), None), ((message(0, element(0x4a, b"x")),), None)):
            got = exchange(running, *words)
            assert got == expected, (words, got)
        assert len(values(client(running), ANN, "description")) == 100


def filters_of_what_is_no_type_are_undefined(program):
    with Server(program, ldif=server.LDIF + MANY_RULES) as running, connect(running) as stream:
        for find in (element(0xa3, text("a b") + text("x")), element(0x87, b"cn;")):
            for each in (find, element(0xa2, find)):
                stream.sendall(search(1, "cn=rules," + SUFFIX, find=each))
                answer, = read_messages(stream, 1)
                assert answer[5:10] == b"\x65\x07\x0a\x01\x00", answer


# --- writes ---

def entry_of(**changes):
    entry = {"objectClass": "inetOrgPerson", "uid": "bo", "cn": "Bo", "sn": "B", **changes}
    return [(name, [v.encode() for v in ([value] if isinstance(value, str) else value)]) for name, value
            in entry.items()]


def add(connection, dn="uid=bo," + PEOPLE, **changes):
    return outcome(connection.add_s, dn, entry_of(**changes))


def an_added_entry_is_found_with_its_values_and_stamps(program):
    bo = "uid=bo," + PEOPLE
    with directory(program) as connection:
        expect(add(connection, mail=["b@x", "bo@x"]), "SUCCESS")
        expect(add(connection, bo.upper()), "ALREADY_EXISTS")
        assert values(connection, bo, "mail") == ["b@x", "bo@x"]
        assert values(connection, bo, "creatorsName") == [ROOT]
        assert [len(values(connection, bo, name)[0]) for name in ("entryUUID", "createTimestamp")] == [36, 15]
        # The DN is found in every spelling.
        for dn in (f"UID=Bo, OU=People , {SUFFIX.upper()}", r"uid=b\6f," + PEOPLE,
                   "userid=bo,organizationalUnitName=people,domainComponent=example,domainComponent=com"):
            assert values(connection, dn, "sn") == ["B"], dn


def types_and_values_of_an_added_entry_may_be_other_names_or_missing(program):
    """Names are those of the schema; a value of the RDN is added; what the schema does not know is accepted."""
    printer, x = f"cn=printer+l=Rome,{SUFFIX}", "cn=x," + SUFFIX
    with directory(program) as connection:
        connection.add_s(printer, [("objectClass", [b"device"])])
        assert [values(connection, printer, name) for name in ("cn", "l")] == [["printer"], ["Rome"]]
        connection.add_s("uid=bo," + PEOPLE, [("OBJECTCLASS", [b"inetOrgPerson"]), ("commonName", [b"Bo"]),
                                              ("surname", [b"B"]),
                                              ("2.5.4.42", [b"Robert"])])
        assert [values(connection, "uid=bo," + PEOPLE, name) for name in ("givenName", "cn")] == [["Robert"], ["Bo"]]
        connection.add_s(x, [("objectClass", [b"debianPackage"]), ("cn", [b"x"]), ("installedSize", [b"12"])])
        assert values(connection, x, "installedSize") == ["12"]
        expect(outcome(connection.modify_s, ANN, [(ADD, "favouriteColour", [b"red"])]), "SUCCESS")


def an_add_is_refused_for_its_place_or_the_schema(program):
    with directory(program) as connection:
        expect(add(connection, "uid=bo,ou=a,ou=b," + PEOPLE), "NO_SUCH_OBJECT", matched=PEOPLE)
        expect(add(connection, "uid=bo,dc=elsewhere"), "UNWILLING_TO_PERFORM")
        expect(outcome(connection.add_s, "uid=bo," + PEOPLE, [("uid", [b"bo"])]), "OBJECT_CLASS_VIOLATION",
               "no objectClass attribute")
        for changes, code, info in (
                ({"mail": ["a", "A "]}, "TYPE_OR_VALUE_EXISTS", None),
                ({"displayName": ["a", "b"]}, "CONSTRAINT_VIOLATION", None),
                ({"manager": "nobody"}, "INVALID_SYNTAX", "manager: value #0 invalid per syntax"),
                ({"mail": ""}, "INVALID_SYNTAX", None),
                ({"entryUUID": "00000000-0000-0000-0000-000000000000"}, "CONSTRAINT_VIOLATION", None),
                ({"a b": "c"}, "UNDEFINED_TYPE", None), ({"a" * 256: "c"}, "UNDEFINED_TYPE", None),
                ({"description": "a" * ((1536 << 10) + 1)}, "CONSTRAINT_VIOLATION", None)):
            expect(add(connection, **changes), code, info)
        for dn in ("uid=" + "a" * 65535, "uid," + SUFFIX):
            expect(add(connection, dn), "INVALID_DN_SYNTAX")
        assert not found(connection, "(uid=bo)")


def only_leaves_are_deleted(program):
    with directory(program) as connection:
        expect(outcome(connection.delete_s, PEOPLE), "NOT_ALLOWED_ON_NONLEAF")
        expect(outcome(connection.delete_s, ANN), "SUCCESS")
        expect(outcome(connection.delete_s, ANN), "NO_SUCH_OBJECT", matched=PEOPLE)
        expect(outcome(connection.delete_s, PEOPLE), "SUCCESS")


def modifications_apply_in_their_order_or_not_at_all(program):
    with directory(program) as connection:
        connection.modify_s(ANN, [(REPLACE, "mail", [b"a@x", b"b@x"])])
        connection.modify_s(ANN, [(ADD, "mail", [b"c@x"]), (DELETE, "mail", [b"A@X"]),
                                  (REPLACE, "description", [b"e", b"f"]), (DELETE, "description", [b"e"]),
                                  (ADD, "telephoneNumber", [b"+1 2-3"])])
        assert [values(connection, ANN, name) for name in ("mail", "description", "modifiersName")] == \
            [["b@x", "c@x"], ["f"], [ROOT]]
        expect(outcome(connection.modify_s, ANN, [(ADD, "mail", [b"d@x"]), (DELETE, "mail", [b"no@x"])]),
               "NO_SUCH_ATTRIBUTE",
               "modify/delete: mail: no such value")
        assert values(connection, ANN, "mail") == ["b@x", "c@x"]


def each_modification_has_its_result(program):
    with directory(program) as connection:
        for modification, code in (
                ((ADD, "mail", [b"ANN@example.com"]), "TYPE_OR_VALUE_EXISTS"),
                ((ADD, "mail", [b"n@x", b"N@x"]), "TYPE_OR_VALUE_EXISTS"), ((ADD, "mail", []), "PROTOCOL_ERROR"),
                ((REPLACE, "displayName", [b"a", b"b"]), "CONSTRAINT_VIOLATION"),
                ((ADD, "manager", [b"x"]), "INVALID_SYNTAX"),
                ((REPLACE, "entryUUID", [b"x"]), "CONSTRAINT_VIOLATION"), ((DELETE, "uid", None), "NOT_ALLOWED_ON_RDN"),
                ((REPLACE, "uid", [b"bo"]), "NOT_ALLOWED_ON_RDN"),
                ((DELETE, "objectClass", None), "OBJECT_CLASS_VIOLATION"),
                ((ADD, "9x", [b"1"]), "UNDEFINED_TYPE"),
                # A deletion without values removes the type; one of values needs a rule of equality.
                ((DELETE, "mail", None), "SUCCESS"), ((DELETE, "mail", None), "NO_SUCH_ATTRIBUTE"),
                ((REPLACE, "mail", None), "SUCCESS"), ((ADD, "jpegPhoto", [b"one", b"two"]), "SUCCESS"),
                ((DELETE, "jpegPhoto", [b"one"]), "INAPPROPRIATE_MATCHING"), ((DELETE, "jpegPhoto", None), "SUCCESS"),
                # Types with options are types of their own.
                ((ADD, "description", [b"d"]), "SUCCESS"), ((ADD, "description;lang-de", [b"D"]), "SUCCESS"),
                ((DELETE, "description", None), "SUCCESS")):
            answer = outcome(connection.modify_s, ANN, [modification])
            assert answer[0] == code and (code == "SUCCESS" or answer[1]), (modification, answer)
        assert values(connection, ANN, "description;lang-de") == ["D"]
        for dn, code in (("uid=bo," + PEOPLE, "NO_SUCH_OBJECT"), ("bo", "INVALID_DN_SYNTAX")):
            expect(outcome(connection.modify_s, dn, [(ADD, "mail", [b"x"])]), code)


def compare_uses_the_matching_rule_of_the_type(program):
    with directory(program) as connection:
        connection.modify_s(ANN, [(ADD, "telephoneNumber", [b"+1 23"]), (ADD, "jpegPhoto", [b"p"])])
        for dn, name, value, code in (
                (ANN, "cn", b"ann  ARCHER", True), (ANN, "telephoneNumber", b"+12-3", True), (ANN, "cn", b"bo", False),
                (ANN, "title", b"bo", "NO_SUCH_ATTRIBUTE"), (ANN, "nothing", b"bo", "NO_SUCH_ATTRIBUTE"),
                (ANN, "manager", b"bo", "INVALID_SYNTAX"), (ANN, "jpegPhoto", b"p", "INAPPROPRIATE_MATCHING"),
                ("dc=no", "cn", b"x", "NO_SUCH_OBJECT")):
            try:
                got = connection.compare_s(dn, name, value)
            except ldap.LDAPError as error:
                got = type(error).__name__
            assert got == code, (name, value, got)


# --- searches ---

def a_scope_has_its_entries(program):
    with directory(program, people=200) as connection:
        for find, base, scope, count in (
                (ALL, SUFFIX, ldap.SCOPE_BASE, 1), (ALL, SUFFIX, ldap.SCOPE_ONELEVEL, 1),
                (ALL, SUFFIX, ldap.SCOPE_SUBTREE, 203),
                (ALL, SUFFIX, ldap.SCOPE_SUBORDINATE, 202), (ALL, PEOPLE, ldap.SCOPE_SUBTREE, 202),
                (ALL, PEOPLE, ldap.SCOPE_SUBORDINATE, 201), (ALL, PEOPLE, ldap.SCOPE_ONELEVEL, 201),
                (ALL, ANN, ldap.SCOPE_SUBTREE, 1), ("(uid=p7)", SUFFIX, ldap.SCOPE_ONELEVEL, 0),
                ("(uid=p7)", ANN, ldap.SCOPE_SUBTREE, 0), (ALL, "", ldap.SCOPE_ONELEVEL, 1),
                (ALL, "", ldap.SCOPE_SUBTREE, 203)):
            got = found(connection, find, base, scope)
            assert len(set(got)) == len(got) == count, (find, base, scope, len(got))
        for scope in (ldap.SCOPE_BASE, ldap.SCOPE_ONELEVEL, ldap.SCOPE_SUBTREE):
            for base, code, matched in (("uid=no,ou=gone," + PEOPLE, "NO_SUCH_OBJECT", PEOPLE),
                                        ("dc=com", "NO_SUCH_OBJECT", ""),
                                        ("nonsense", "INVALID_DN_SYNTAX", None)):
                expect(outcome(connection.search_s, base, scope, "(uid=p1)"), code, matched=matched)
            # An index knows one part of the filter; each entry is found once.
            if scope:
                assert found(connection, "(|(objectClass=person)(!(uid=nobody)))", PEOPLE, scope) == \
                    found(connection, ALL, PEOPLE, scope)


def candidates(connection, find):
    """How many entries a search finds, and at how many it looks."""
    before = monitored(connection, "candidates", "cn=database,cn=monitor")
    count = len(found(connection, find))
    return count, monitored(connection, "candidates", "cn=database,cn=monitor") - before


def indexes_give_few_candidates(program):
    with directory(program, people=200) as connection:
        for find, expected in (
                ("(uid=P17)", (1, 1)), ("(uid=p999)", (0, 0)), ("(|(uid=p1)(uid=p2)(uid=p2))", (2, 2)),
                ("(&(objectClass=person)(uid=p1))", (1, 1)), ("(&(cn=*)(sn=17))", (1, 1)), ("(uid=p17*)", (11, 203)),
                ("(&(objectClass=person)(cn=*17*))", (12, 201)), ("(&(uid=p1)(uid=p2))", (0, 1)),
                ("(&(uid=p1)(!(sn=1)))", (0, 1)),
                ("(entryUUID>=00000000-0000-0000-0000-000000000000)", (203, 203)),
                ("(objectClass=organizationalUnit)", (1, 1)),
                ("(nothing=x)", (0, 203)), ("(&(uid=p1)(nothing=x))", (0, 1)), ("(cn>=x)", (0, 0)),
                ("(&(cn:=x)(title=*))", (0, 0)), ("(!(uid=p1))", (202, 203)), ("(dc=example)", (1, 203))):
            got = candidates(connection, find)
            assert got == expected, (find, got)


def indexes_follow_changes(program):
    with directory(program) as connection:
        assert candidates(connection, "(mail=ann@example.com)") == (1, 1)
        connection.modify_s(ANN, [(REPLACE, "mail", [b"new@x"])])
        assert candidates(connection, "(mail=ann@example.com)") == (0, 0)
        assert candidates(connection, "(mail=NEW@x)") == (1, 1)
        connection.delete_s(ANN)
        assert candidates(connection, "(mail=new@x)") == (0, 0)


def indexes_or_not_the_result_is_the_same(program):
    """They are built anew when the server starts with others."""
    filters = ("(uid=p1)", "(uid=*)", "(mail=*@example.com)", "(cn=*son*)", "(cn=per* *1)", "(colour>=c)",
               "(colour<=Red)", "(colour<=c)", "(colour>=a)", "(mail=ann@example.com)", "(objectClass=person)")
    colours = "".join(f"dn: cn={colour},{SUFFIX}\nobjectClass: device\ncolour: {colour}\n\n"
                      for colour in ("red", "blue"))
    answers = []
    with tempfile.TemporaryDirectory() as db:
        for types, scans in ((["sn"], 11), (["uid", "mail", "cn", "objectClass", "colour"], 8)):
            options = [word for name in types for word in ("--index", name)]
            with directory(program, "--db", db, *options, people=20, ldif=server.LDIF + colours) as connection:
                answers.append([found(connection, find) for find in filters])
                assert monitored(connection, "scans", "cn=database,cn=monitor") == scans
    assert answers[0] == answers[1] and all(answers[0]), answers


def long_lists_of_an_index_are_read_as_short_ones(program):
    with directory(program, people=2999) as connection:
        for find, count in (("(objectClass=person)", 3000), ("(&(objectClass=person)(cn=person*))", 2999),
                            ("(|(objectClass=person)(objectClass=domain))", 3001), ("(cn=*erson*)", 2999),
                            ("(entryUUID>=00000000-0000-0000-0000-000000000000)", 3002)):
            assert len(found(connection, find)) == count, find


def the_work_of_a_search_is_limited(program):
    with directory(program, "--workLimit", "50", people=200) as connection:
        answer = outcome(connection.search_s, SUFFIX, ldap.SCOPE_SUBTREE, "(title=*)")
        assert answer[0] == "ADMINLIMIT_EXCEEDED" and answer[1], answer
        assert candidates(connection, "(uid=p199)") == (1, 1)


def a_search_that_waits_for_its_client_goes_on_where_it_was(program):
    ldif = server.LDIF + "".join(person(i, 4000) for i in range(2000))
    with Server(program, "--maxOutputBytes", "65536", ldif=ldif) as running:
        watcher = client(running)
        for name in ("objectClass", "sn"):
            with connect(running) as stream:
                stream.sendall(search(1, PEOPLE, 1, ["1.1", "description"], element(0x87, name.encode())))
                until(lambda: monitored(watcher, "parked") >= 1, "it waits")
                messages = read_messages(stream, 2002)
                assert len(set(messages)) == 2002


def the_entry_cache_keeps_its_limit(program):
    with directory(program, "--cacheBytes", "64K", people=300) as connection:
        assert len(found(connection, ALL)) == 303
        found(connection, ALL, SUFFIX, ldap.SCOPE_BASE)  # nothing else is in use any more
        limit, size, evicted, entries = (monitored(connection, name, "cn=entry cache,cn=monitor")
                                         for name in ("limit", "bytes", "evicts", "entries"))
        assert size <= limit == 64 << 10 and evicted and entries, (limit, size, evicted, entries)


run_tests(tests_of(globals()), sys.argv[1], sys.argv[2:])
