# SPDX-License-Identifier: MIT
"""The gdb commands `slab info` and `slab object ADDRESS`.

They work in a live process and in a core file, and only read memory: libslab_inspect reads it
through gdb, as it does for slabinfo. So they call no function of the program and need no running
thread, and the library must be of the same build as the program's libslab.

    (gdb) source slab-gdb.py        if gdb did not load it automatically (README.md)
    (gdb) slab info [REGEXP]        list the caches
    (gdb) slab object ADDRESS       identify a pointer
"""

import ctypes
import json
import os
import re
import subprocess
import time

import gdb

EFAULT = 14
NOTE_HEAD = 20  # of the ELF note: the descriptor follows
LIBRARY = "libslab_inspect.so.0"

# --- libslab_inspect (<slab/inspect.h>) ------------------------------------------

ReadFunction = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_uint64,
    ctypes.c_size_t,
    ctypes.c_size_t,
    ctypes.c_size_t,
    ctypes.c_void_p,
)


class Reader(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("read", ReadFunction),
        ("arg", ctypes.c_void_p),
        ("pid", ctypes.c_int),
        ("command", ctypes.c_char_p),
        ("now_ms", ctypes.c_uint64),
    ]


class Answer(ctypes.Structure):
    _fields_ = [
        ("text", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("mapped", ctypes.c_size_t),
    ]


def read_bytes(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


@ReadFunction
def read_pieces(_arg, address, size, stride, count, to):
    try:
        for i in range(count):
            ctypes.memmove(to + i * size, read_bytes(address + i * stride, size), size)
    except (gdb.error, OverflowError):
        return -EFAULT
    return 0


def library():
    """The one beside the program's libslab.so, or the installed one."""
    for objfile in gdb.objfiles():
        path = os.path.join(os.path.dirname(objfile.filename or ""), LIBRARY)
        if "libslab" in (objfile.filename or "") and os.path.exists(path):
            return ctypes.CDLL(path)
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise gdb.GdbError(f"the commands need {LIBRARY}: {error}")


def roots():
    """The address of the root of each copy of libslab in the process."""
    for line in gdb.execute("info files", to_string=True).splitlines():
        if " is .note.libslab" in line:
            at = int(line.split()[0], 16) + NOTE_HEAD
            yield at + int.from_bytes(read_bytes(at, 8), "little", signed=True)


def is_live():
    connection = gdb.selected_inferior().connection
    return connection is not None and connection.type == "native"


def ask_copy(root, request):
    reader = Reader(
        struct_size=ctypes.sizeof(Reader),
        read=read_pieces,
        pid=gdb.selected_inferior().pid,
        command=os.path.basename(gdb.current_progspace().filename or "?").encode(),
        now_ms=int(time.monotonic() * 1000) if is_live() else 0,
    )
    answer = Answer()
    inspect = library()
    inspect.slab_inspect(
        ctypes.byref(reader), ctypes.c_uint64(root), request.encode(), ctypes.byref(answer)
    )
    if not answer.text:
        raise gdb.GdbError("no memory for the answer")
    document = json.loads(ctypes.string_at(answer.text, answer.length))
    inspect.slab_answer_free(ctypes.byref(answer))
    if not document["ok"]:
        raise gdb.GdbError(document["error"])
    return document


def ask(request):
    """The answer of the first copy of libslab that has caches (docs/schema)."""
    for root in roots():
        if ask_copy(root, "ping")["has_caches"]:
            return ask_copy(root, request)
    raise gdb.GdbError("no libslab with caches in this process: run it, or attach to it, first")


def type_names(names):
    """Names of caches of types, as slab-symbolize finds them in the files of the process; without it, as they are."""
    files = [file.filename for file in gdb.objfiles() if (file.filename or "").startswith("/")]
    if not any(name.startswith("token-") for name in names):
        return names
    try:
        found = subprocess.run(
            ["slab-symbolize", *files], input="\n".join(names), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return names
    return found.stdout.split("\n")


# --- tracks ------------------------------------------------------------------------

# Inlined functions that call libslab for their caller: typed functions and those of slab.hpp. gdb
# does not tell which functions are marked as artificial.
WRAPPER = re.compile(r"slab::|\w+_(z?alloc|alloc_nofail|free|cache)$|slab_definition_cache_$")


def place_text(symtab, line):
    return f" ({symtab.filename.rsplit('/', 1)[-1]}:{line})" if symtab else ""


def symbol_text(pc):
    symbol = gdb.execute(f"info symbol {pc - 1}", to_string=True)
    return "0x%x" % pc if symbol.startswith("No symbol") else symbol.split(" in section")[0]


def functions_at(pc):
    """The functions at a return address, inlined ones first, each with its place."""
    found = gdb.find_pc_line(pc - 1)
    place = place_text(found.symtab, found.line)
    block = gdb.block_for_pc(pc - 1)
    while block:
        function = block.function
        if function:
            inlined = not block.superblock.is_static
            if not (inlined and WRAPPER.match(function.print_name)):
                yield function.print_name + place
            if not inlined:
                return
            # The line of an inlined function's symbol is that of its call.
            place = place_text(function.symtab, function.line)
        block = block.superblock
    yield symbol_text(pc) + place


def age_text(when):
    """How long ago; a core file does not know what time it is."""
    if is_live():
        return f"{int(time.monotonic() * 1000) - when} ms ago"
    return f"at {when} ms of the monotonic clock"


def print_track(what, track):
    if track is None:
        return
    when = age_text(track["when"])
    print(f"{what} {when} by tid {track['tid']} ({track['thread']}) on CPU {track.get('cpu', '?')}")
    n = 0
    for frame in track["stack"]:
        for function in functions_at(frame["address"]) if frame["address"] else ["..."]:
            print(f"    #{n} {function}")
            n += 1


# --- commands --------------------------------------------------------------------------


def describe_without_cache(address, found):
    if "address" in found:
        into = f"{address - found['address']} bytes into {found['size']} bytes of slab_malloc()"
        print(f"0x{address:x} is {into}")
    elif "own" in found:
        print(f"0x{address:x} is memory of libslab that no cache has: free, or its own")
    else:
        print(f"0x{address:x} is not memory of libslab")


def describe_object(address):
    found = ask(f"object {address}")
    if "cache" not in found:
        describe_without_cache(address, found)
        return
    found["cache"] = type_names([found["cache"]])[0]
    if "index" not in found:
        print(f"0x{address:x} is behind the last object of a slab of {found['cache']}")
        return
    print(
        f"0x{address:x} is {address - found['address']} bytes from the start of object"
        f" 0x{found['address']:x} of cache {found['cache']} ({found['size']} bytes)"
    )
    requested = found.get("requested", found["size"])
    is_part = found["state"] == "allocated" and requested != found["size"]
    asked = f", {requested} bytes asked for" if is_part else ""
    print(f"object  {found['index']} of its slab: {found['state']}{asked}")
    legacy = ", legacy layout" if found["legacy"] else ""
    print(
        f"slab    objects={found['objects']} used={found['used']}:"
        f" debug flags {found['debug_flags']}{legacy}"
    )
    print_track("allocated", found.get("allocated"))
    print_track("freed", found.get("freed"))


def one_line_errors(invoke):
    """An error in a command prints one line, never a Python stack."""

    def guarded(self, argument, from_tty):
        try:
            invoke(self, argument, from_tty)
        except gdb.GdbError:
            raise
        except re.error as error:
            raise gdb.GdbError(f"'{argument}' is no regular expression: {error}")
        except gdb.error as error:
            raise gdb.GdbError(str(error))

    return guarded


class SlabCommand(gdb.Command):
    """Objects and caches of libslab: slab info, slab object ADDRESS."""

    def __init__(self):
        super().__init__("slab", gdb.COMMAND_DATA, prefix=True)


class SlabInfo(gdb.Command):
    """slab info [REGEXP]: the caches, or those whose name matches."""

    def __init__(self):
        super().__init__("slab info", gdb.COMMAND_DATA)

    @one_line_errors
    def invoke(self, argument, from_tty):
        wanted = re.compile(argument)
        caches = ask("stats")["caches"]
        print(f"{'Name':<24}{'Objects':>10}{'Objsize':>9}{'Slabs':>8}  Flags")
        for cache, name in zip(caches, type_names([cache["name"] for cache in caches])):
            if wanted.search(name):
                print(
                    f"{name:<24}{cache['objects']:>10}{cache['object_size']:>9}"
                    f"{cache['slabs']:>8}  {cache['debug_flags']}"
                )


class SlabObject(gdb.Command):
    """slab object ADDRESS: the object's cache, its state, and where it was allocated and freed."""

    def __init__(self):
        super().__init__("slab object", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    @one_line_errors
    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("slab object needs an address or an expression that is one")
        describe_object(int(gdb.parse_and_eval(argument).cast(gdb.lookup_type("unsigned long"))))


SlabCommand()
SlabInfo()
SlabObject()
