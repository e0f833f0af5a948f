# SPDX-License-Identifier: MIT
"""The LDIF reader, which ldapd and the example directory share: what it reads, and what it reports of the rest.

usage: ldif_test.py LDAPD [TEST...]
"""
import sys

import ldap

from server import Server, client, run_tests, tests_of

TOP = "dn: dc=x\nobjectClass: domain\n\n"
DEVICE = "objectClass: device\n"


def reads(program, text, entries, complaints=()):
    """These entries below dc=x, by their DNs and with these values; each complaint has a line and words."""
    with Server(program, ldif=text, suffix="dc=x") as running:
        found = dict(client(running).search_s("dc=x", ldap.SCOPE_SUBORDINATE))
        said = [line for line in running.text().splitlines() if "data.ldif:" in line]
    assert sorted(found) == sorted(entries), (found, said)
    for dn, values in entries.items():
        for name, expected in values.items():
            assert found[dn].get(name) == expected, (dn, name, found[dn])
    assert len(said) == len(complaints), said
    for line, words in complaints:
        assert any(f"data.ldif:{line}: {words}" in each for each in said), (line, words, said)


def records_have_values(program):
    reads(program,
          f"version: 1\n{TOP}dn: uid=a,dc=x\n{DEVICE}uid: a\nmail: 1\nmail: 2\n\n\ndn: uid=b,dc=x\n{DEVICE}uid:b",
          {"uid=a,dc=x": {"uid": [b"a"], "mail": [b"1", b"2"]}, "uid=b,dc=x": {"uid": [b"b"]}})


def folded_lines_are_joined_and_comments_skipped(program):
    reads(program, f"{TOP}# a comment\n  that is folded\ndn: uid=a,\n dc=x\n#another\n{DEVICE}cn: one\n  two\n three\n",
          {"uid=a,dc=x": {"cn": [b"one twothree"]}})


def lines_may_end_with_carriage_returns(program):
    text = f"{TOP}dn: uid=a,dc=x\n{DEVICE}cn: a\n\ndn: uid=b,dc=x\n{DEVICE}cn: b\n"
    reads(program, text.replace("\n", "\r\n"), {"uid=a,dc=x": {"cn": [b"a"]}, "uid=b,dc=x": {"cn": [b"b"]}})


def values_may_be_in_base64(program):
    reads(program,
          f"{TOP}dn:: dWlkPWEsZGM9eA==\n{DEVICE}cn:: YQ==\nsn:: YWI=\nl:: YWJj\njpegPhoto:: AAH/\nou:: YW\n Jj\n",
          {"uid=a,dc=x": {"cn": [b"a"], "sn": [b"ab"], "l": [b"abc"], "jpegPhoto": [b"\0\x01\xff"], "ou": [b"abc"]}})


def bad_lines_are_skipped(program):
    reads(program, f"{TOP}dn: uid=a,dc=x\n{DEVICE}no colon here\nb@d: type\nx:: YQ=\ny:: Y$==\nz:< file:///etc/motd\n"
                   "dn: uid=b\ncn: good\ncn: a\0b\n", {"uid=a,dc=x": {"cn": [b"good"]}},
          [(6, "no ':' in the line"), (7, "this is no attribute type"), (8, "the value is no base64"),
           (9, "the value is no base64"), (10, "values from URLs"), (11, "a second DN in one record"), (13,
                                                                                                        "a NUL byte")])


def records_with_a_bad_dn_are_skipped(program):
    reads(program,
          f"{TOP}uid: a\ndn: uid=a\n\ndn: nothing\nuid: x\n\ndn:\nuid: x\n\ndn: =x\nuid: x\n\ndn: uid=a\\zz\nuid: x\n\n"
                   f"dn: uid=lonely,dc=x\n\ndn: uid=good,dc=x\n{DEVICE}", {"uid=good,dc=x": {"uid": [b"good"]}},
          [(4, "the record does not start with its DN"), (7, "nothing: Invalid DN syntax"),
           (10, ": Invalid DN syntax"), (13, "=x: Invalid DN syntax"), (16, "uid=a\\zz: Object class violation"),
           (19, "an entry without attributes")])


def change_records_and_unknown_versions_are_skipped(program):
    reads(program,
          f"version: 2\n\n{TOP}dn: uid=a,dc=x\nchangetype: delete\nuid: x\n\ndn: uid=b,dc=x\n{DEVICE}\nversion: 1\n",
          {"uid=b,dc=x": {}},
          [(1, "an unknown LDIF version"), (7, "this is a change record"),
           (13, "the version stands only before the first record")])


def a_line_that_goes_on_before_the_first_is_bad(program):
    reads(program, f" starts with a blank\n\n\n\n{TOP}", {}, [(1, "")])


run_tests(tests_of(globals()), sys.argv[1], sys.argv[2:])
