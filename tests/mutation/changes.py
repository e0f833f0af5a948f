# SPDX-License-Identifier: MIT
"""The changes that a mutation run draws from: what a line of C could have said instead.

A change replaces a part of one line within a function. Comments, strings, preprocessor lines,
assertions, reports, notes, probes and statistics are left alone: no test is asked to see them.
"""
import functools
import re
from pathlib import Path
from typing import NamedTuple

# Rooms of slab/ whose code decides about memory. Left out are report and stats, which write
# text, and inspect, which reads another process.
ROOMS = ["cpu_cache", "slab/base", "slab/config", "slab/pages", "slab/core", "slab/percpu",
         "slab/registry", "slab/bug", "slab/debug", "slab/rcu", "slab/memory", "slab/alloc",
         "slab/control", "slab/cache"]
# Files that measure or describe, and decide nothing.
LEFT_OUT = {"slab/alloc/count_cost.c", "slab/bug/bug_report.c", "slab/registry/count_window.c",
            "slab/cache/leaks.c"}
SAYS = re.compile(r"\b(assert|_Static_assert|note\w*|report\w*|SLAB_PROBE\w*|probe\w*|"
                  r"\w*refuse\w*|annotate\w*|tally\w*|\w*stat(istic)?s?_\w*|SLAB_STAT\w*|\w*inject\w*)\s*\(|"
                  r"\b(asm|__asm__)\b|\bstats?\b|->stat\b")

OPERATORS = [("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"), ("==", "!="), ("!=", "=="),
             ("+", "-"), ("-", "+"), ("&&", "||"), ("||", "&&"), ("&", "|"), ("|", "&"),
             ("<<", ">>"), (">>", "<<"), ("+=", "-="), ("-=", "+="), ("|=", "&="), ("&=", "|=")]
WORDS = [("true", "false"), ("false", "true")]
CONSTANT = re.compile(r"(?<![\w.\"'])(\d+)([uUlL]*)\b(?![.'])")
CONDITION = re.compile(r"^(\s*)(?:\} else )?(if|while) \((.*)\)( \{)?$")
ENDS_GUARD = re.compile(r"^\s*(return|goto|continue|break)\b")
STATEMENT = re.compile(r"^\s*[*(]*[A-Za-z_].*;$")
DECLARATION = re.compile(r"^\s*(const|static|struct|unsigned|enum|union|volatile|extern|typedef|"
                         r"bool|int|long|char|void|size_t|ssize_t|u?int\d+_t|uintptr_t|pid_t)\b")
JUMP = re.compile(r"^\s*(return|goto|continue|break|case|default|else|do|for|if|while|switch)\b")


class Change(NamedTuple):
    path: str
    line: int    # from 1
    kind: str
    before: str
    after: str

    def text(self):
        return f"`{self.before.strip()}` -> `{self.after.strip()}`"


def masked(source):
    """The lines of a source, comments and strings replaced by blanks and x."""
    def blank(match):
        text = match[0]
        if text.startswith("/"):
            return re.sub(r"[^\n]", " ", text)
        return text[0] + "x" * (len(text) - 2) + text[-1]
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", blank, source,
                  flags=re.S).split("\n")


def inside_functions(lines):
    """The numbers of the lines within the bodies of functions, from 0."""
    inside = False
    for number, line in enumerate(lines):
        if line.startswith("}"):
            inside = False
        if inside and line.strip() and not line.lstrip().startswith("#") \
                and not line.endswith("\\"):
            yield number
        if line.rstrip() == "{":
            inside = True


def is_balanced(text):
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def replaced(line, begin, end, new):
    return line[:begin] + new + line[end:]


def token_changes(code, line):
    """Other operators, truth values and numbers."""
    for old, new in OPERATORS:
        for match in re.finditer(r"(?<= )" + re.escape(old) + r"(?= |$)", code):
            yield "operator", replaced(line, *match.span(), new)
    for old, new in [("++", "--"), ("--", "++")]:
        for match in re.finditer(re.escape(old), code):
            yield "operator", replaced(line, *match.span(), new)
    for old, new in WORDS:
        for match in re.finditer(rf"\b{old}\b", code):
            yield "constant", replaced(line, *match.span(), new)
    for match in CONSTANT.finditer(code):
        yield "constant", replaced(line, *match.span(), str(int(match[1]) + 1) + match[2])
    for match in re.finditer(r" [-+] 1\b", code):
        yield "off by one", replaced(line, *match.span(), "")


def condition_changes(code, line, following):
    match = CONDITION.match(code)
    if not match or not is_balanced(match[3]):
        return
    begin, end = match.span(3)
    yield "negated condition", replaced(line, begin, end, f"!({line[begin:end]})")
    if match[2] == "if" and ENDS_GUARD.match(following):
        yield "removed guard", replaced(line, begin, end, f"0 && ({line[begin:end]})")


def removed_statement(code, line, before):
    """The line without its statement, if it is one whole statement."""
    if not STATEMENT.match(code) or DECLARATION.match(code) or JUMP.match(code) \
            or not is_balanced(code) or not re.search(r"[;{}):]\s*$|\belse$", before):
        return
    indent = re.match(r"\s*", line)[0]
    yield "removed statement", indent + ";"


def changes_of(path, source):
    lines, code = source.split("\n"), masked(source)
    numbers = list(inside_functions(code))
    for number in numbers:
        if SAYS.search(code[number]):
            continue
        before = next((code[n] for n in range(number - 1, -1, -1) if code[n].strip()), "")
        following = code[number + 1] if number + 1 < len(code) else ""
        stripped = code[number].rstrip()
        found = [*token_changes(stripped, lines[number]),
                 *condition_changes(stripped, lines[number], following),
                 *removed_statement(stripped, lines[number], before.rstrip())]
        for kind, new in found:
            if new != lines[number]:
                yield Change(path, number + 1, kind, lines[number], new)


def sources(root):
    """The C files that changes are made in, built files alone."""
    listed = (Path(root) / "CMakeLists.txt").read_text()
    for room in ROOMS:
        for path in sorted((Path(root) / room).glob("*.c")):
            name = str(path.relative_to(root))
            if name not in LEFT_OUT and f"\t{name}\n" in listed:
                yield name


@functools.cache
def by_line(root):
    """All changes, in lists of those of one line."""
    lines = {}
    for name in sources(root):
        for change in changes_of(name, (Path(root) / name).read_text()):
            lines.setdefault((name, change.line), []).append(change)
    return [lines[key] for key in sorted(lines)]


def drawn(root, random):
    """Random changes without end: each line is as likely as the others, and none comes twice."""
    lines = list(by_line(root))
    random.shuffle(lines)
    for line in lines:
        yield random.choice(line)
