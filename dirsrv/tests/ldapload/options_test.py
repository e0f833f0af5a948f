# SPDX-License-Identifier: MIT
"""Options of ldapload: those that are refused, and the LDIF of --make-ldif.

usage: options_test.py LDAPLOAD MANUAL
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../ldapd"))
from server import run_tests, tests_of  # pylint: disable=wrong-import-position

KINDS, FORMAT = "accepted: KIND=WEIGHT", "accepted: FORMAT:FIRST-LAST"


def run(program, *words):
    return subprocess.run([program, *words], text=True, capture_output=True, check=False, timeout=60)


def wrong_options_are_refused_with_what_is_accepted(program):
    cases = [
        (["-c", "0"], "--connections takes a whole number from 1 to 100000, not '0'"),
        (["-t", "-1"], "--threads takes a whole number"), (["--depth", "1x"], "--depth takes a whole number"),
        (["--operations", "9" * 20], "--operations takes"),
        (["--seconds", "nan"], "--seconds takes a number from 0.01 to 86400"),
        (["--rate", "-5"], "--rate takes a number from 0.01"),
        (["--nothing"], "'--nothing' is no option of this program"),
        (["--depth"], "'--depth' needs a value"), (["file"], "'file' is not understood"),
        (["-c", "2", "-t", "3"], "more threads than connections"),
        (["--mix", "bind,search", "--depth", "2"], "--mix with bind takes --depth 1"),
        (["--mix", "base,base=2"], "'base=2' is there twice"),
        (["--make-ldif", "1", "--values-from", "/proc/self/comm"], "--make-ldif takes"),
        (["--make-ldif", "1", "-b", "cn=x"], "accepted: dc, ou, o, c, l"),
        (["--make-ldif", "1", "-b", "nothing"], "'nothing' is no DN"),
        (["-H", "ldaps://h"], "ldaps is not supported; accepted: ldap://"),
        (["-H", "h:389"], "is no URI; accepted: ldap://"),
        (["-H", "ldapi:///"], "missing; accepted"), (["-H", "ldapi://" + "x" * 200], "too long"),
        (["-H", "ldap://no.such.host.invalid"], "no.such.host.invalid: "),
        (["--values-from", "/nonexistent"], "/nonexistent: No such file or directory")]
    cases += [(["--mix", text], KINDS) for text in ("x", "searches", "search=0", "search=-1", "search=1x", "search=",
                                                    "",
                                                    "search=1000001", "delete=1", "connect", ",search")]
    cases += [(["--values", text], FORMAT) for text in (
        "x", "user:0-9", "%s:0-9", "%u%u:0-9", "%0u:0-9", "%099u:0-9", "%d:0-9", "user%", "user%u", "%u:9", "%u:9-8",
        "%u:-1-8", "%u:0-9x", "%:0-9", "%u:0-" + "9" * 20, "")]
    for words, error in cases:
        ran = run(program, *words)
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1) and error in ran.stderr, (words, ran)


def files_of_values_need_them(program):
    for content, error in (("\tou=shells", "without a value"), ("\n\n", "has no value"),
                           ("x" * 300, "longer than 255 bytes")):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(content)
            file.flush()
            ran = run(program, "--values-from", file.name)
        assert ran.returncode == 2 and error in ran.stderr, ran


def help_and_manual_have_the_same_options(program):
    with open(sys.argv[2], encoding="utf-8") as file:
        manual = file.read().replace(" , -", " Fl -")  # "H , -uri" for -H, --uri
    shown = set(re.findall(r"--([a-z-]+)", run(program, "--help").stdout))
    assert len(shown) > 15 and shown == set(re.findall(r"Fl -([a-z-]+)", manual)), shown


# --- LDIF ---

def the_ldif_has_the_entries_of_the_base_and_the_people(program):
    text = run(program, "--make-ldif", "3", "-b", "ou=a,o=b,dc=c,dc=d").stdout
    assert text.startswith("dn: dc=c,dc=d\nobjectClass: domain\ndc: c\n\ndn: o=b,dc=c,dc=d\nobjectClass: organization\n"
                           "o: b\n\ndn: ou=a,o=b,dc=c,dc=d\nobjectClass: organizationalUnit\nou: a\n\n"
                           "dn: uid=user000000,ou=a,o=b,dc=c,dc=d\n"), text
    assert text.count("dn: ") == 6 and text.count("\nuid: user000002\n") == 1
    assert text == run(program, "--make-ldif", "3", "-b", "ou=a,o=b,dc=c,dc=d").stdout


def the_naming_attribute_has_the_values_in_base64_if_they_are_not_plain(program):
    for values, lines in (("user%06u:7-12", [f"cn: user{i:06}" for i in range(7, 13)]),
                          ("a%u:b:99-100", ["cn: a99:b", "cn: a100:b"]), ("plain %u:5-5", ["cn: plain 5"]),
                          (" %u:5-5", ["cn:: IDU="]), ("%u :5-5", ["cn:: NSA="]), (":%u:5-5", ["cn:: OjU="]),
                          ("\u00e9%u:5-5", ["cn:: w6k1"]), ("a\n%u:5-5", ["cn:: YQo1"])):
        text = run(program, "--make-ldif", str(len(lines)), "--attribute", "cn", "--values", values).stdout
        assert re.findall("^cn:.*", text, re.MULTILINE) == lines, (values, text)
        assert values[0] != "u" or f"\ndn: {lines[0].replace(': ', '=')},ou=People," in text


run_tests(tests_of(globals()), sys.argv[1])
