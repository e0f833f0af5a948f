# SPDX-License-Identifier: MIT
"""The manual is the reference: each public function of each header has a page whose synopsis shows
the header's prototype and names the header.

usage: prototypes.py SOURCE-FOLDER
"""
import re
import shlex
import sys
from pathlib import Path

LEAST = 120  # public functions; fewer mean that the headers are not understood any more
PUBLIC = re.compile(r"^(?:SLAB_API(?:_HOT)?|static inline)\s+(?P<type>[\w\s]+?[\s*]+)(?P<name>\w+)"
                    r"\((?P<arguments>(?:[^()]|\([^()]*\))*)\)", re.M)


def plain(text):
    """One spelling of a type: no spaces around stars and brackets."""
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s*([*(),])\s*", r"\1", text)


def arguments_of(text):
    """Split at the commas that are in no brackets."""
    found, depth, current = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            found.append(current)
            current = ""
        else:
            current += char
    return [plain(argument) for argument in found + [current]]


def prototypes_of_header(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    text = re.sub(r"\\\n|^#.*$", "", text, flags=re.M)
    return {match["name"]: (plain(match["type"]), arguments_of(match["arguments"]))
            for match in PUBLIC.finditer(text) if not match["name"].endswith("_")}


def words_of(line):
    return shlex.split(line)[1:]


def prototypes_of_page(path):
    """What .Ft, .Fn, .Fo and .Fa of the synopsis say, and the headers of its .In."""
    synopsis = path.read_text().partition(".Sh SYNOPSIS\n")[2].partition("\n.Sh ")[0]
    found, headers, kind, name = {}, set(), "", None
    for line in synopsis.splitlines():
        macro = line.split(" ")[0]
        if macro == ".In":
            headers.add(words_of(line)[0])
        elif macro == ".Ft":
            kind = plain(" ".join(words_of(line)))
        elif macro == ".Fn":
            words = words_of(line)
            found[words[0]] = (kind, [plain(word) for word in words[1:]])
        elif macro == ".Fo":
            name = words_of(line)[0]
            found[name] = (kind, [])
        elif macro == ".Fa":
            # Words may be parts of one argument, a callback: mdoc breaks lines between words.
            found[name][1].extend(arguments_of(", ".join(words_of(line))))
    return found, headers


def shown(name, prototype):
    return f"{prototype[0]} {name}({', '.join(prototype[1])})"


def main():
    source = Path(sys.argv[1])
    pages, wrong, count = {}, [], 0
    for path in sorted(source.glob("**/docs/man/man3/*.3")):
        found, headers = prototypes_of_page(path)
        for name, prototype in found.items():
            pages[name] = (prototype, headers, path.name)
    for path in sorted((*source.glob("include/slab/*.h"), *source.glob("dirsrv/include/slab/*/*.h"))):
        header = str(path)[str(path).rindex("include/") + len("include/"):]
        for name, prototype in prototypes_of_header(path).items():
            count += 1
            if name not in pages:
                wrong.append(f"{header}: {name}() has no page")
                continue
            other, headers, page = pages[name]
            if other != prototype:
                wrong.append(f"{page}: {shown(name, other)}, but {header}: {shown(name, prototype)}")
            if header not in headers:
                wrong.append(f"{page}: {name}() without <{header}>")
    print(*wrong, f"{count} functions", sep="\n")
    return bool(wrong) or count < LEAST


if __name__ == "__main__":
    sys.exit(main())
