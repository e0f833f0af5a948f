# SPDX-License-Identifier: MIT
"""The binary interface of a library is still the one in a description: each function of it, each
member of its structs at its place, each constant. What is allowed is to add a function, a
constant, or members at the end of a struct whose size the program passes.

usage: description.py LIBRARY DESCRIPTION HEADER-FOLDER
UPDATE=1 writes DESCRIPTION instead: see README.md for when.
"""
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree


class Interface:
    """What abidw of libabigail finds in a library's debug information, a line for each thing."""

    def __init__(self, corpus):
        self.types = {node.get("id"): node for node in corpus.iter() if node.get("id")}
        self.corpus = corpus

    def called(self, kind, returned, name=""):
        given = [self.spelled(p.get("type-id")) for p in kind.findall("parameter") if p.get("type-id")]
        given += ["..." for p in kind.findall("parameter") if p.get("is-variadic")]
        return f"{self.spelled(returned)} {name}({', '.join(given) or 'void'})"

    def spelled(self, number):
        node = self.types[number]
        of = node.get("type-id")
        if node.tag == "pointer-type-def":
            target = self.types[of]
            if target.tag == "function-type":
                return self.called(target, target.find("return").get("type-id"), "(*)")
            return f"{self.spelled(of)} *"
        if node.tag == "qualified-type-def":
            words = [word for word in ("const", "volatile", "restrict") if node.get(word)]
            return " ".join([self.spelled(of), *words])
        if node.tag == "array-type-def":
            return self.spelled(of) + "".join(f"[{r.get('length')}]" for r in node.findall("subrange"))
        if node.tag == "typedef-decl":
            return self.spelled(of)
        word = {"class-decl": "struct ", "union-decl": "union ", "enum-decl": "enum "}.get(node.tag, "")
        return word + node.get("name")

    def lines(self):
        for node in self.corpus.iter("function-decl"):
            yield self.called(node, node.find("return").get("type-id"), node.get("name"))
        for node in self.corpus.iter("class-decl"):
            for member in node.findall("data-member"):
                variable = member.find("var-decl")
                if node.get("name").startswith(("slab_", "dirsrv_")):
                    yield (f"struct {node.get('name')}: {int(member.get('layout-offset-in-bits')) // 8:4} "
                           f"{self.spelled(variable.get('type-id'))} {variable.get('name')}")
        for node in self.corpus.iter("enumerator"):
            yield f"{node.get('name')} = {node.get('value')}"


def main():
    library, description, headers = sys.argv[1:]
    with tempfile.NamedTemporaryFile() as found:
        subprocess.run(["abidw", "--headers-dir", headers, "--drop-private-types",
                        "--exported-interfaces-only", "--no-show-locs", "--out-file", found.name, library],
                       check=True)
        now = sorted(set(Interface(xml.etree.ElementTree.parse(found.name).getroot()).lines()))
    if os.environ.get("UPDATE") == "1":
        with open(description, "w", encoding="utf-8") as file:
            file.write("\n".join(now) + "\n")
        return 0
    with open(description, encoding="utf-8") as file:
        gone = [line for line in file.read().splitlines() if line not in now]
    for line in gone:
        print("abi: programs do not work any more that were compiled with:", line)
    return 1 if gone or not now else 0


sys.exit(main())
