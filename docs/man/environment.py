# SPDX-License-Identifier: MIT
"""slab_environment(7) from docs/environment.md: headings, paragraphs, tables, lists and code.

usage: environment.py FILE.md PAGE
"""
import re
import sys
from pathlib import Path

from from_headers import escaped, today


def plain(text):
    """Without marks of Markdown; a link to another document becomes its name."""
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", re.sub(r"\*\*|`", "", text)).replace("\\|", "|")
    return escaped(re.sub(r"(?<=[.?]) (?=[A-Z]|lib)", "\n", text), True)


def row(line):
    """A variable with its values and default, or cells of another table in a line."""
    cells = [plain(cell.strip()) for cell in line.strip("|").split(" | ")]
    if cells[0].startswith("SLAB_"):
        return f".It Ev {cells[0]}\n{cells[3]}\n.br\nAccepted: {cells[1]}.\n.br\nDefault: {cells[2]}."
    return "".join(f".It Cm {cells[i]}\n{cells[i + 1]}\n" for i in range(0, len(cells), 2)).rstrip()


def block(text):
    if text.startswith("## "):
        return f".Sh {text[3:].upper()}"
    if text.startswith("    "):
        code = "\n".join(escaped(line[4:], True) for line in text.split("\n"))
        return f".Bd -literal -offset 2n\n{code}\n.Ed"
    if text.startswith("|"):
        return "\n".join([".Bl -tag -width Ds", *map(row, text.split("\n")[2:]), ".El"])
    if text.startswith("- "):
        items = re.split(r"^- ", text, flags=re.M)[1:]
        return "\n".join([".Bl -dash", *(".It\n" + plain(" ".join(item.split())) for item in items), ".El"])
    return ".Pp\n" + plain(" ".join(text.split()))


def main():
    blocks = Path(sys.argv[1]).read_text(encoding="utf-8").split("\n\n")
    blocks[0] = blocks[0].split("\n")[-1]  # the title, after the licence
    head = (f".Dd {today()}\n.Dt SLAB_ENVIRONMENT 7\n.Os libslab\n.Sh NAME\n"
            ".Nm slab_environment\n.Nd environment variables of libslab\n.Sh DESCRIPTION")
    text = "\n".join([head, *map(block, blocks[1:])])
    text = re.sub(r"(\.S[hs] .*)\n\.Pp", r"\1", text)
    Path(sys.argv[2]).write_text(text.rstrip() + "\n.Sh SEE ALSO\n.Xr libslab_malloc 7 ,\n.Xr slab 7\n", encoding="utf-8")


if __name__ == "__main__":
    main()
