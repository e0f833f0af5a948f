# SPDX-License-Identifier: MIT
"""Commands, transcripts and listings of the documents.

A code block is fenced, or indented by four spaces. In it a line is a command if a prompt precedes
it ("$ ", or "# " before a program that needs root), or if it calls ./run, a compiler, cmake or
ctest. A backslash at its end continues it. Two spaces and "#" begin a comment.

The lines between two commands of a block that begins with ```console are the transcript of the
first one; other blocks show output that is not compared. A listing is a block of C whose
first line is a comment with its file's name: "/* server.c: what it does */".
"""
import re
from pathlib import Path

COMMAND = re.compile(r"\$ (?P<prompt>.+)"
                     r"|# (?P<root>(?:slab-perf|perf|bpftrace) .+)"
                     r"|(?P<bare>(?:\./run|cc|cmake|ctest|benchmarks/\w+/\w+)(?: .+)?|slabinfo .*\|.*)")
COMMENT = re.compile(r"\s{2,}#.*")
LISTING = re.compile(r"/\* (\w[\w.-]*\.[ch])[: ]")


class Command:
    """A command and the lines that it should print, None if these are not compared."""

    def __init__(self, text, line):
        self.text, self.line, self.output = text, line, None


def documents(source):
    """README.md, CONTRIBUTING.md and all of docs/ and dirsrv/docs/, as paths from the top folder."""
    return ["README.md", "CONTRIBUTING.md"] + sorted(
        str(path.relative_to(source)) for folder in ("docs", "dirsrv/docs")
        for path in Path(source, folder).glob("*.md"))


def blocks(text):
    """(language, number of the first line, lines) of each code block."""
    language, first, block = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if language is not None:
                yield language, first, block
                language = None
            else:
                if block:
                    yield "", first, block
                language, first = line[3:].strip(), number + 1
            block = []
        elif language is not None:
            block.append(line)
        elif line.startswith("    ") or (block and not line):
            first = first if block else number
            block.append(line[4:])
        elif block:
            yield "", first, block
            block = []
    if block:
        yield language or "", first, block


def command_of(line):
    match = COMMAND.fullmatch(line)
    return match and (match["prompt"] or match["root"] or match["bare"])


def commands_of_block(language, first, lines):
    commands, continued = [], False
    for number, line in enumerate(lines, first):
        text = command_of(line)
        if continued:
            commands[-1].text += " " + line.strip()
        elif text:
            commands.append(Command(text, number))
            commands[-1].output = [] if language == "console" else None
        elif commands and commands[-1].output is not None:
            commands[-1].output.append(line)
        continued = bool(commands) and commands[-1].text.endswith("\\")
        if continued:
            commands[-1].text = commands[-1].text[:-1].rstrip()
    for command in commands:
        command.text = COMMENT.sub("", command.text)
    return commands


def commands(text):
    return [command for language, first, lines in blocks(text) if language in ("", "console", "sh")
            for command in commands_of_block(language, first, lines)]


def listings(text):
    """The text of each listing, by the name of its file."""
    found = {}
    for language, _, lines in blocks(text):
        match = LISTING.match(lines[0]) if language == "c" and lines else None
        if match:
            found[match[1]] = "\n".join(lines) + "\n"
    return found
