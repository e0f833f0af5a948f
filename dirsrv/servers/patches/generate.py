#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a semantic patch and a C header from a table of types.

usage: generate.py TABLE patch|header|scan|scan_context|files|context_files|include|types|functions

scan, scan_context, types and functions are patterns for grep -E: an untyped allocation of a listed
type (scan: in files; scan_context: in context_files), a listed type, a function that allocates or
frees.

The semantic patch, for Debian's spatch, replaces a server's allocations of the types in the table
with typed_NAME_alloc() and others; the header defines these as macros over libslab's caches. Lines
of a table:

  files GLOB...               sources to convert
  include FOLDER...           where spatch finds headers
  malloc|calloc FUNCTION...   functions that allocate; calloc: both orders of the factors
  free FUNCTION...            f(pointer)
  free_with FUNCTION...       f(pointer, context)
  release FUNCTION...         f((void **)&pointer): frees, and sets the pointer to NULL
  malloc_in|calloc_in|free_in MEMBER...   x->f(..., context)
  define NAME...              macros that switch something off in the server
  context_files FILE...       sources whose allocations in memory contexts become typed
  type NAME | C TYPES | CONSTRUCTED | OBJECT
  sized NAME | C TYPE         objects of two sizes: with and without what follows them
  pair NAME | C TYPE | ALLOC FREE | CONSTRUCTED
  pool NAME | C TYPE | MUTEX LIST CHUNKS FILL [NEXT]
  perthread NAME | FUNCTION   a list of free objects per thread; FUNCTION ends it
  context NAME | C TYPE | MEMBER...   objects of memory contexts that are freed one by one; the
                              members are macros for pointers to them

CONSTRUCTED: "cleared MEMBER...": the server frees these objects cleared, except the members; the
constructor clears. "keeps MEMBER NEW DELETE": the member is made once per object and stays while
the object is free. OBJECT: the C type of the memory, if the server allocates more than the type.
"""

import collections
import re
import sys

Type = collections.namedtuple("Type", "name types constructed object")


class Table:
    """A table of types, read from a file."""

    def __init__(self, path):
        self.words = collections.defaultdict(list)
        self.rows = collections.defaultdict(list)
        with open(path, encoding="utf-8") as file:
            for line in file:
                self.read(line.split("#")[0].strip())

    def read(self, line):
        if not line:
            return
        kind, _, rest = line.partition(" ")
        if "|" in rest:
            self.rows[kind].append([field.strip() for field in rest.split("|")])
        else:
            self.words[kind] += rest.split()

    def types(self):
        """What each cache holds: types, and the external ones of pairs."""
        for row in self.rows["type"]:
            types = [name.strip() for name in row[1].split(",")]
            row = row + [""] * (4 - len(row))
            yield Type(row[0], types, row[2].split(), row[3] or types[0])
        for row in self.rows["pair"]:
            yield Type(row[0], [row[1]], row[3].split() if len(row) > 3 else [], row[1])
        for row in self.rows["context"]:
            yield Type(row[0], [row[1]], [], row[1])


def typedefs(types):
    return "".join(f"typedef {name};\n" for name in types if " " not in name)


def choice(pairs):
    """A disjunction of replacements."""
    return "(\n" + "|\n".join(f"- {old}\n+ {new}\n" for old, new in pairs) + ")\n"


def rule(name, variables, body):
    return f"@{name}@\n{variables}@@\n{body}\n"


# ---- semantic patch ----


def allocations(table, kind):
    """Each way to write an allocation of one object; sizeof of the type or of what it points to."""
    spellings = [f"sizeof({name})" for name in dict.fromkeys(kind.types + [kind.object])]
    spellings += [f"sizeof(*P{i})" for i in range(len(kind.types))]
    for size in spellings:
        for function in table.words["malloc"]:
            yield f"{function}({size})", f"typed_{kind.name}_alloc()"
        for function in table.words["calloc"]:
            yield f"{function}(1, {size})", f"typed_{kind.name}_zalloc()"
            yield f"{function}({size}, 1)", f"typed_{kind.name}_zalloc()"


def allocation_rule(table, kind):
    names = dict.fromkeys(kind.types + [kind.object])
    variables = typedefs(names)
    variables += "".join(f"{name} *P{i};\n" for i, name in enumerate(kind.types))
    return rule(f"alloc_{kind.name}", variables, choice(allocations(table, kind)))


def frees(table, name, count):
    """Each way to write a free, with and without parentheses and casts. What a list of free objects
    held, the server frees in one function; its other frees are of objects within larger blocks.
    """
    pooled = name in [row[0] for row in table.rows["pool"]]
    for i in range(count):
        pointers = [f"P{i}", f"(P{i})", f"(char *)P{i}", f"(void *)P{i}"]
        for function in [] if pooled else table.words["free"]:
            for pointer in pointers:
                yield f"{function}({pointer})", f"typed_{name}_free(P{i})"
        for function in [] if pooled else table.words["free_with"]:
            for pointer in pointers:
                yield f"{function}({pointer}, ...)", f"typed_{name}_free(P{i})"
        for function in table.words["release"]:
            for pointer in (f"&P{i}", f"(&P{i})", f"&(P{i})", f"(&(P{i}))"):
                yield f"{function}((void **){pointer})", f"typed_{name}_release(&P{i})"
            for pointer in (f"Q{i}", f"(Q{i})"):
                yield f"{function}((void **){pointer})", f"typed_{name}_release(Q{i})"


def free_rule(table, name, types):
    variables = typedefs(types)
    variables += "".join(f"{t} *P{i};\n{t} **Q{i};\n" for i, t in enumerate(types))
    return rule(f"free_{name}", variables, choice(frees(table, name, len(types))))


def kept_rules(kind):
    """A member that stays constructed: generated code neither makes nor deletes it."""
    if not kind.constructed or kind.constructed[0] != "keeps":
        return ""
    member, new, delete = (word.split("(")[0] for word in kind.constructed[1:4])
    text = ""
    for i, name in enumerate(kind.types):
        variables = f"{typedefs([name])}{name} *P;\n"
        text += rule(f"new_{kind.name}_{i}", variables, f"- P->{member} = {new}(...);\n")
        deletions = (
            f"- if (P->{member}) {{ {delete}(P->{member}); }}\n",
            f"- if (P->{member}) {delete}(P->{member});\n",
            f"- {delete}(P->{member});\n",
        )
        for j, deletion in enumerate(deletions):
            text += rule(f"delete_{kind.name}_{i}_{j}", variables, deletion)
    return text


def pair_rules(row):
    name, ctype, functions = row[0], row[1], row[2].split()
    member = row[3].split()[1]
    variables = f"{typedefs([ctype])}{ctype} *P;\nexpression B;\n"
    return rule(
        f"alloc_pair_{name}",
        variables,
        f"- P = ({ctype} *){functions[0]}(sizeof({ctype}), &B);\n"
        f"+ P = typed_{name}_alloc();\n+ B = P->{member};\n",
    ) + rule(f"free_pair_{name}", variables, f"- {functions[1]}(P, B)\n+ typed_{name}_free(P)\n") + "".join(
        rule(f"unused_{function}", "", f"- {function}(...) {{ ... }}\n") for function in functions
    )


def pool_rules(row):
    """The server's list of free objects goes, with its mutex and the memory it was filled from."""
    name, ctype = row[:2]
    mutex, items, chunks, fill = row[2].split()[:4]
    lock = f"- ldap_pvt_thread_mutex_lock(&{mutex});\n"
    unlock = f"- ldap_pvt_thread_mutex_unlock(&{mutex});\n"
    head = f"typedef {ctype};\nidentifier next;\n"
    text = rule(
        f"pop_{name}",
        head + f"local idexpression {ctype} *X;\n",
        f"{lock}- ...\n- {items} = X->next;\n- ...\n{unlock}+ X = typed_{name}_alloc();\n",
    )
    text += rule(
        f"push_{name}",
        head + f"{ctype} *X;\n",
        f"{lock}- X->next = {items};\n- {items} = X;\n{unlock}+ typed_{name}_free(X);\n",
    )
    text += rule(
        f"push_list_{name}",
        head + f"{ctype} *X;\n{ctype} *Y;\n",
        f"{lock}- X->next = {items};\n- {items} = Y;\n{unlock}+ typed_{name}_free_list(Y, X);\n",
    )
    text += rule(f"fill_{name}", "", f"- {fill}(...) {{ ... }}\n")
    text += rule(
        f"pop_list_{name}",
        "identifier f, n, x;\n",
        f"f(..., int n) {{\n...\n{lock}- ... when any\n{unlock}"
        f"+ x = typed_{name}_alloc_list(n);\n...\nreturn x;\n}}\n",
    )
    text += rule(
        f"chunks_{name}",
        "expression e1, e2, e3;\n",
        f"- for (e1; e2; e3) {{ <+... {chunks} ...+> }}\n",
    )
    text += rule(f"init_{name}", "", f"- ldap_pvt_thread_mutex_init(&{mutex});\n")
    text += rule(f"destroy_{name}", "", f"- ldap_pvt_thread_mutex_destroy(&{mutex});\n")
    text += rule(f"mutex_{name}", "", f"- static ldap_pvt_thread_mutex_t {mutex};\n")
    for i, variable in enumerate((items, chunks)):
        text += rule(f"list_{name}_{i}", "type T;\n", f"- static T *{variable};\n")
    return text


def perthread_rules(row):
    name, end = row
    key = f"if (c) {{ <+... ldap_pvt_thread_pool_setkey(c, ..., {end}, ...) ...+> }}"
    return (
        rule(f"perthread_{name}_else", "expression c;\nstatement S;\n", f"- {key} else\nS\n")
        + rule(f"perthread_{name}", "expression c;\n", f"- {key}\n")
        + rule(f"perthread_{name}_end", "", f"- {end}(...) {{ ... }}\n")
    )


def sized_rules(table, row):
    name, ctype = row
    variables = f"typedef {ctype};\n{ctype} *P;\nexpression size;\n"
    body = choice((f"P = {f}(size)", f"P = typed_{name}_alloc(size)") for f in table.words["malloc"])
    return rule(f"alloc_{name}", variables, body) + free_rule(table, name, [ctype])


def context_allocations(table, i, name, ctype):
    for size in (f"sizeof({ctype})", f"sizeof(V{i})", f"sizeof(*P{i})"):
        for function in table.words["malloc_in"]:
            yield f"E->{function}({size}, ...)", f"typed_{name}_alloc()"
        for function in table.words["calloc_in"]:
            yield f"E->{function}(1, {size}, ...)", f"typed_{name}_zalloc()"


def context_frees(table, i, name, members):
    """A free may find what is not of the cache, and then does what it did before."""
    pointers = [f"P{i}", f"(char *)P{i}", f"(void *)P{i}"]
    pointers += [f"E{sign}{member}" for member in members for sign in (".", "->")]
    for pointer in pointers:
        frees_of = [f"X->{function}({pointer}, C)" for function in table.words["free_in"]]
        frees_of += [f"{function}({pointer}, C)" for function in table.words["free_with"]]
        frees_of += [f"{function}({pointer})" for function in table.words["free"]]
        for old in frees_of:
            yield old, f"typed_{name}_free_or({pointer}, {old})"


def context_rules(table):
    """One rule for all types: spatch does not know their names any more in a function that it has
    changed.
    """
    rows = [(i, row[0], row[1], row[2].split()) for i, row in enumerate(table.rows["context"])]
    if not rows:
        return ""
    head = "".join(f"typedef {ctype};\n" for _, _, ctype, _ in rows)
    pointers = "".join(f"{ctype} *P{i};\n" for i, _, ctype, _ in rows)
    values = "".join(f"{ctype} V{i};\n" for i, _, ctype, _ in rows)
    allocate = [pair for i, name, ctype, _ in rows for pair in context_allocations(table, i, name, ctype)]
    free = [pair for i, name, _, members in rows for pair in context_frees(table, i, name, members)]
    place = " || ".join(f'file in "{file}"' for file in table.words["context_files"])
    return (
        rule(f"alloc_context depends on {place}", head + pointers + values + "expression E;\n", choice(allocate))
        + rule("free_context", head + pointers + "expression E, X, C;\n", choice(free))
    )


def patch(table):
    text = "// Generated by generate.py.\n"
    for row in table.rows["pool"]:
        text += pool_rules(row)
    for row in table.rows["perthread"]:
        text += perthread_rules(row)
    for row in table.rows["pair"]:
        text += pair_rules(row)
    text += context_rules(table)
    done = [row[0] for row in table.rows["pair"] + table.rows["context"]]
    for kind in table.types():
        text += kept_rules(kind)
        if kind.name not in done:
            text += allocation_rule(table, kind) + free_rule(table, kind.name, kind.types)
    for row in table.rows["sized"]:
        text += sized_rules(table, row)
    return text


# ---- header ----


def call(word):
    """The name of a function and its last argument: NAME or NAME(NUMBER)."""
    name, _, argument = word.rstrip(")").partition("(")
    return name, argument or "0"


CLEARED = """
__attribute__((weak)) int typed_{name}_ctor(void *obj, void *size)
{{
	__builtin_memset(obj, 0, (size_t)size);
	return 0;
}}
#define TYPED_ARGS_{name} (&(const struct slab_cache_args){{ \\
	.ctor = typed_{name}_ctor, .arg = (void *)sizeof({object})}})
#define typed_{name}_alloc() __extension__({{ \\
	{ctype} *typed_obj = TYPED_ALLOC({name}, {object}, TYPED_ARGS_{name}); \\
{reset}	typed_obj; }})
#define typed_{name}_zalloc() typed_{name}_alloc()
"""

KEEPS = """
extern void *typed_{name}_new(long) __asm__("{new}") __attribute__((weak));
extern void typed_{name}_delete(void *, long) __asm__("{delete}") __attribute__((weak));
__attribute__((weak)) int typed_{name}_ctor(void *obj, void *offset)
{{
	void **member = (void **)((char *)obj + (size_t)offset);

	*member = typed_{name}_new({new_argument});
	return *member ? 0 : -1;
}}
__attribute__((weak)) void typed_{name}_dtor(void *obj, void *offset)
{{
	typed_{name}_delete(*(void **)((char *)obj + (size_t)offset), {delete_argument});
}}
#define TYPED_ARGS_{name} (&(const struct slab_cache_args){{ \\
	.ctor = typed_{name}_ctor, .dtor = typed_{name}_dtor, \\
	.arg = (void *)__builtin_offsetof({object}, {member})}})
#define typed_{name}_alloc() __extension__({{ \\
	{ctype} *typed_obj = TYPED_ALLOC({name}, {object}, TYPED_ARGS_{name}); \\
	void *typed_kept = typed_obj->{member}; \\
	__builtin_memset(typed_obj, 0, sizeof(*typed_obj)); \\
	typed_obj->{member} = typed_kept; \\
	typed_obj; }})
#define typed_{name}_zalloc() typed_{name}_alloc()
"""

PLAIN = """
#define TYPED_ARGS_{name} 0
#define typed_{name}_alloc() (({ctype} *)TYPED_ALLOC({name}, {object}, TYPED_ARGS_{name}))
#define typed_{name}_zalloc() \\
	(({ctype} *)__builtin_memset(typed_{name}_alloc(), 0, sizeof({object})))
"""

FREE = """#define typed_{name}_free(p) typed_free(p)
#define typed_{name}_release(pp) TYPED_RELEASE({name}, pp)
"""

FREE_OR = """#define typed_{name}_free_or(p, otherwise) \\
	__extension__({{ static struct slab_cache *typed_owner; \\
		if (!typed_free_own(&typed_owner, "{name}", (p))) otherwise; }})
"""

LIST = """#define typed_{name}_alloc_list(n) __extension__({{ \\
	{ctype} *typed_head = 0; \\
	for (int typed_i = (n); typed_i > 0; typed_i--) {{ \\
		{ctype} *typed_next = typed_{name}_alloc(); \\
		typed_next->{link} = typed_head; \\
		typed_head = typed_next; \\
	}} \\
	typed_head; }})
#define typed_{name}_free_list(first, last) \\
	TYPED_FREE_LIST({name}, {ctype}, {link}, TYPED_CACHE({name}, {object}, TYPED_ARGS_{name}), first, last)
"""


def define(kind, links, contexts):
    fields = {"name": kind.name, "ctype": kind.types[0], "object": kind.object}
    template = PLAIN
    if kind.constructed[:1] == ["cleared"]:
        template = CLEARED
        fields["reset"] = "".join(
            f"\t__builtin_memset(&typed_obj->{m}, 0, sizeof(typed_obj->{m})); \\\n"
            for m in kind.constructed[1:]
        )
    elif kind.constructed[:1] == ["keeps"]:
        template = KEEPS
        fields["member"] = kind.constructed[1]
        fields["new"], fields["new_argument"] = call(kind.constructed[2])
        fields["delete"], fields["delete_argument"] = call(kind.constructed[3])
    text = template.format(**fields) + (FREE_OR if kind.name in contexts else FREE).format(**fields)
    if kind.name in links:
        text += LIST.format(link=links[kind.name], **fields)
    return text


def header(table):
    text = "/* Generated by generate.py. */\n#ifndef TYPED_CACHES_H\n#define TYPED_CACHES_H\n"
    text += "".join(f"#define {name} 1\n" for name in table.words["define"])
    text += '#include "typed.h"\n'
    links = {row[0]: row[2].split()[4] for row in table.rows["pool"] if len(row[2].split()) > 4}
    contexts = [row[0] for row in table.rows["context"]]
    for kind in table.types():
        text += define(kind, links, contexts)
    for name, ctype in table.rows["sized"]:
        text += (
            f"\n#define typed_{name}_alloc(size) TYPED_ALLOC_SIZED({name}, {ctype}, size)\n"
            f"#define typed_{name}_free(p) ((void)slab_free_any(p))\n"
        )
    return text + "\n#endif\n"


# ---- patterns for grep -E ----


def alternatives(words):
    return "|".join(re.escape(word).replace(r"\ ", " +") for word in sorted(words))


def types(table):
    names = {name for kind in table.types() for name in kind.types + [kind.object]}
    names |= {row[1] for row in table.rows["sized"]}
    return rf"\b({alternatives(names)})\b" + "\n"


def functions(table):
    kinds = ("malloc", "calloc", "free", "free_with", "release", "malloc_in", "calloc_in", "free_in")
    names = {name for kind in kinds for name in table.words[kind]}
    names |= {row[2].split()[0] for row in table.rows["pool"] + table.rows["pair"]}
    return rf"\b({alternatives(names)})\b" + "\n"


def untyped(allocate, names):
    return (rf"\b({alternatives(set(allocate))}) *\( *(1 *, *)?sizeof *\(? *({alternatives(names)}) *\)?"
            r" *(, *1 *)?[,)]" + "\n")


def scan(table):
    contexts = [row[0] for row in table.rows["context"]]
    kinds = [kind for kind in table.types() if kind.name not in contexts]
    return untyped(table.words["malloc"] + table.words["calloc"],
                   {name for kind in kinds for name in kind.types + [kind.object]})


def scan_context(table):
    return untyped(table.words["malloc_in"] + table.words["calloc_in"], {row[1] for row in table.rows["context"]})


OUTPUTS = {
    "patch": patch,
    "header": header,
    "scan": scan,
    "scan_context": scan_context,
    "files": lambda table: "\n".join(table.words["files"]) + "\n",
    "context_files": lambda table: "\n".join(table.words["context_files"]) + "\n",
    "include": lambda table: "\n".join(table.words["include"]) + "\n",
    "types": types,
    "functions": functions,
}


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in OUTPUTS:
        sys.exit(__doc__)
    sys.stdout.write(OUTPUTS[sys.argv[2]](Table(sys.argv[1])))


if __name__ == "__main__":
    main()
