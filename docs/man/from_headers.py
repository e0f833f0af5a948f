# SPDX-License-Identifier: MIT
"""Section 3 of the manual, from the comments of the public headers.

usage: from_headers.py FOLDER INCLUDE-FOLDER...

A header's first comment is a page, and so is each comment before functions or a macro. Its form is
    NAME, NAME: what it does     of all functions that follow; a macro with its arguments
    @ARGUMENT  text              further lines of the text are indented
      TAG  text                  indented by two: a list, tags and texts two blanks apart
      - text                     a list with dashes
    <tab>code
with empty lines between paragraphs. A sentence with "Returns …", or with "MT-safe …" or another
word on safety, begins a section, which ends with the paragraph. `argument`, *term*, function(), page(1)
and <slab/header.h> are marked. Types and constants are on the pages of the functions that take them, or
that their comment names.
"""
import os
import re
import sys
import time
from pathlib import Path

BLOCK = re.compile(r"^(/\*(?:(?!\*/).)*\*/)\n((?:(?!/\*|\n)[^\n]*\n)*)", re.M | re.S)
FUNCTION = re.compile(r"^(?:SLAB_API(?:_HOT|_SITE)?|static inline) ([\w\s]+?[\s*]+)(\w+[a-z0-9])"
                      r"\(((?:[^()]|\([^()]*\))*)\)", re.M)
DEFINED = re.compile(r"^(?:struct|enum|#define|typedef [^;]*?) (?!SLAB_API)(\w*[A-Za-z0-9])(?= \{|\s|;)", re.M)
MEMBER = (r"(/\*.*?\*/)|(#define (?:\\\n|[^\n/])*|(?:[^END/#{}]|/(?!\*))+(?:END|(?=\n\})))"
          r"[ \t]*(/\*.*?\*/)?")
SECTION = re.compile(r"(?:^|(?<=[.:;] ))(?=Returns |Algorithm: |(?:MT|Fork|Async-signal)-safe|Only one thread)")
LISTS = {"arg": "-tag -width ", "item": "-tag -width ", "dash": "-dash"}


def flat(text):
    return re.sub(r"\s+", " ", text).strip()


def elements_of(comment):
    """[kind, text, tag]: text, arg, item, dash, code, and end between paragraphs."""
    found = [["end", "", ""]]
    for line in comment[2:-2].split("\n"):
        line = re.sub(r"^\s*\* ?|^\s+", "", line).rstrip()
        last, item = found[-1], re.match(r"  (\S.*?)(?:  +(\S.*))?$", line)
        if not line:
            found.append(["end", "", ""])
        elif line[0] == "\t":
            found += [["code", "", ""]] if last[0] != "code" else []
            found[-1][1] += line.expandtabs()[8:] + "\n"
        elif line[0] == "@":
            found.append(["arg", *reversed(line[1:].split(None, 1))])
        elif line.startswith("  - "):
            found.append(["dash", line[4:], ""])
        elif item:
            found.append(["item", item[2] or "", item[1]])
        elif line[0] == " " or last[0] == "text":
            last[1] = flat(last[1] + " " + line)
        else:
            found.append(["text", line, ""])
    return found


class Page:
    """A comment, and what follows it: functions, a macro, definitions, or nothing."""

    def __init__(self, header, comment, code):
        self.header, self.code, self.elements, self.usage = header, code, elements_of(comment), []
        self.comment = flat(" ".join(element[1] for element in self.elements))
        self.functions = FUNCTION.findall(code)
        self.names = [name for _, name, _ in self.functions]
        is_definition = re.match(r"struct \w+ \{|enum|typedef|#define", code) and not self.names
        self.defined = DEFINED.findall(code) if is_definition else []
        self.title = (re.match("(?:struct|enum) [a-z_]+", code) or ["Constants"])[0]
        first = next((element for element in self.elements if element[0] == "text"), ["", "", ""])
        head = re.match(r"((?:[A-Z_]+\([^)]*\)[; ]*)+|(?:\w+, )*[a-z]+_\w+|slab::[\w<>:]+): ", first[1])
        macro = re.match(r"#define (\w+)\(", code)
        if head and head[1].startswith("slab::"):
            self.title, self.code, self.defined = head[1], "", [head[1]]
        elif head and macro and head[1].startswith(macro[1]):
            self.names, self.usage, self.defined = [macro[1]], re.findall(r"\w+\([^)]*\)", head[1]), []
        elif head and head[1].split(", ") != self.names:
            sys.exit(f"{header}: {head[1]}: followed by {', '.join(self.names)}")
        first[1] = first[1][head.end() if head else 0:]
        self.about = re.split(r"[.;:?](?: |$)" if self.names else r"[.;](?: |$)", first[1])[0]
        self.about = re.sub("^[A-Z](?![A-Z])", lambda match: match[0].lower(), self.about)
        first[1] = re.sub("^(?!libslab)[a-z]", lambda match: match[0].upper(), first[1])

    def sections(self):
        """Elements by section."""
        found, where = {"DESCRIPTION": [], "RETURN VALUES": [], "ERRORS": [], "SAFETY": []}, ""
        for kind, text, tag in self.elements:
            where = "DESCRIPTION" if kind == "end" else where
            if where == "RETURN VALUES" and kind == "item" and re.match(r"-?E[A-Z]", tag):
                last, where = found[where][-1], "ERRORS"
                last[1] = re.sub(r"(?<=or)$", " -errno", last[1].rstrip(":")) + ", as below."
            for part in filter(None, SECTION.split(text)) if kind == "text" else [text]:
                if kind == "text" and SECTION.match(part):
                    where = {"Re": "RETURN VALUES", "Al": "DESCRIPTION"}.get(part[:2], "SAFETY")
                found[where].append([kind, part if kind == "code" else part.strip(), tag])
        return found


class Manual:
    def __init__(self, folders):
        self.headers, self.known = [], set()  # pages of each header; the first one is the header's
        for path in sorted(path for folder in folders for path in Path(folder).glob("slab/**/*.h*")):
            name, text = str(path)[str(path).rindex("/slab/") + 1:], path.read_text()
            pages = [Page(name, *match) for match in BLOCK.findall(text)][1:]
            pages[0].names = [page_of_header(name)]
            self.headers.append([page for page in pages if page.names or page.defined])
            self.known |= {name for page in pages for name in page.names}
            for function in {function for _, function, _ in FUNCTION.findall(text)} - self.known:
                sys.exit(f"{name}: no comment directly before {function}()")

    def mark(self, word, own):
        """The line of mdoc(7) for a word with a mark, or None."""
        match = re.fullmatch(r"(\(?)(<slab/[\w./]+>|`[^`]+`|\*\w+\*|([\w.-]+)\((\d?)\))([.,;:)?]*)", word)
        if not match:
            return None
        before, core, name, section, behind = match.groups()
        name = name or page_of_header(core[1:-1])
        if core[0] in "`*":
            macro = f"{'Fa' if core[0] == '`' else 'Em'} {quoted(core[1:-1])}"
        elif section or name in self.known and name not in own:
            macro = f"Xr {name} {section or 3}"
        else:
            macro = f"In {core[1:-1]}" if core[0] == "<" else f"Fn {name}"
        return ("(\\c\n." if before else ".") + macro + "".join(" " + char for char in behind)

    def prose(self, text, own):
        text = re.sub(r"`[^`]+`", lambda match: match[0].replace(" ", "\0"), text)
        for sentence in re.split(r"(?<=[.?]) (?=[A-Z(]|libslab)", text):
            line = []
            for word in sentence.split(" "):
                macro = self.mark(word.replace("\0", " "), own)
                if macro:
                    yield from [" ".join(line), macro]
                line = [] if macro else [*line, escaped(word, not line)]
            yield " ".join(line)

    def body(self, elements, own):
        was = None
        for kind, text, tag in (element for element in elements if element[0] != "end"):
            if was in LISTS and kind != was:
                yield ".El"
            if kind in LISTS and kind != was:
                same = [element for element in elements if element[0] == kind]
                is_short = all(len(element[1]) < 120 for element in same)
                yield ".Pp" if was and is_short else ""
                yield (f".Bl {LISTS[kind]}{min(max(len(element[2]) for element in same), 16) * 'x'}"
                       + is_short * " -compact")
            elif kind == "text" and was:
                yield ".Pp"
            if kind in LISTS:
                yield ".It" + {"arg": " Fa ", "item": " No ", "dash": ""}[kind] + (quoted(tag) if tag else "")
            if kind == "code":
                yield ".Bd -literal -offset indent\n" + escaped(text.rstrip(), True) + "\n.Ed"
            else:
                yield from self.prose(text, own)
            was = kind
        yield ".El" if was in LISTS else ""

    def definition(self, page, own):
        """Members, values or constants as a list."""
        is_typedef, items, before = page.code.startswith("typedef"), [], ""
        yield from self.body(page.elements + is_typedef * [["code", page.code, ""]], own)
        members = MEMBER.replace("END", "," if page.code.startswith("enum") else ";")
        for comment, code, behind in re.findall(members, page.code[page.code.find("{") + 1:] * (not is_typedef), re.S):
            code = flat(code.replace("\\\n", "").replace("#define ", "")).rstrip(",;")
            items += [(code, behind or before)] if code else []
            before = comment
        yield ".Pp\n.Bl -tag -width Ds -compact" if items else ""
        for name, comment in items:
            yield ".It Li " + quoted(name)
            yield from self.body(elements_of(comment), own)
        yield ".El" if items else ""

    def contents(self, pages):
        """What a header has; <slab/slab.h> names the others."""
        rows = [page for page in pages[1:] if page.names]
        rows += [others[0] for others in self.headers if pages[0].names == ["slab"] and others is not pages]
        yield ".Ss Functions\n.Bl -tag -width Ds -compact" if rows else ""
        for page in rows:
            yield ".It " + " , ".join(f"Xr {name} 3" for name in page.names)
            yield from self.prose(page.about, pages[0].names)
        yield ".El" if rows else ""

    def text(self, page, pages):
        own, is_header = page.names, page is pages[0]
        library = "slab_dirsrv" if "dirsrv" in page.header else "slab"
        yield (f".Dt {own[0].upper()} 3\n.Os libslab\n.Sh NAME\n" + " ,\n".join(f".Nm {name}" for name in own)
               + f"\n.Nd {escaped(page.about.replace('`', ''), True)}\n.Sh LIBRARY\nSlab caches in user space\n"
               f".Pq lib{library} , \\-l{library}\n.Sh SYNOPSIS\n.In {page.header}")
        for usage in page.usage:
            yield ".Fn " + " ".join(map(quoted, re.split(r"[(),] ?", usage)[:-1]))
        for kind, name, arguments in page.functions:
            yield f".Ft {flat(kind)}\n.Fo {name}"
            yield from (f".Fa {quoted(argument)}" for argument in flat(arguments).split(", "))
            yield ".Fc"
        taken = set(re.findall(r"\w+", " ".join([page.code.partition("{")[0]] + [
            text for kind, text, _ in page.elements if kind == "arg"])))
        defined = [other for other in pages[1:] if not other.names and (
            is_header or taken & set(other.defined) or any(f"{name}()" in other.comment for name in own))]
        sections = {"DESCRIPTION": page.elements} if is_header else page.sections()
        if not is_header and "fork-safe" not in str(sections["SAFETY"]).lower():
            sections["SAFETY"][:0] = [element for element in pages[0].elements if "MT-safe" in element[1]][:1]
        for title, elements in sections.items():
            if any(element[0] != "end" for element in elements):
                yield f".Sh {title}"
                yield from self.body(elements, own)
            if title == "DESCRIPTION":
                yield from self.contents(pages) if is_header else []
                for last, other in zip([page, *defined], defined):
                    yield ".Pp" if last.title == other.title and last in defined else f".Ss {other.title}"
                    yield from self.definition(other, own)
        see = {other.names[0] for other in pages if other.names and not is_header} | {"slab"}
        see = [f".Xr {name} 3 ," for name in sorted(see - {own[0]}, key=str.lower)]
        yield "\n".join([".Sh SEE ALSO", *see, ".Xr slab 7"])


def page_of_header(name):
    """<slab/debug.h> is slab_debug.h(3), <slab/dirsrv/entry.h> dirsrv_entry.h(3)."""
    return re.sub(r"^slab_(slab)(\.h$)?", r"\1", "_".join(name.split("/")[-2:]))


def escaped(text, is_start):
    text = re.sub(r"(?<!\w)-(?=[\w-])", r"\\-", text.replace("\\", "\\e"))
    text = re.sub(r"[^\0-\x7f]", lambda match: f"\\[u{ord(match[0]):04X}]", text)
    return re.sub(r"^(?=[.'])", r"\&", text, flags=re.M) if is_start else text


def quoted(word):
    return '"' + escaped(word, False).replace('"', "\\(dq") + '"'


def today():
    now = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    return time.strftime("%B ", now) + f"{now.tm_mday}, {now.tm_year}"


def main():
    folder, manual = Path(sys.argv[1]), Manual(sys.argv[2:])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for pages in manual.headers:
        for page in (page for page in pages if page.names):
            text = "\n".join([f".Dd {today()}", *filter(None, manual.text(page, pages)), ""])
            (folder / f"{page.names[0]}.3").write_text(text)
            for name in page.names[1:]:
                (folder / f"{name}.3").symlink_to(f"{page.names[0]}.3")


if __name__ == "__main__":
    main()
