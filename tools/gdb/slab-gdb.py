# SPDX-License-Identifier: MIT
"""The gdb commands `slab info` and `slab object ADDRESS`.

They work in a live process and in a core file, and only read memory: they call no function of
the program, take no lock and need no running thread. They take the layout of structs from
libslab's debug information, which must be available.

    (gdb) source slab-gdb.py        if gdb did not load it automatically (README.md)
    (gdb) slab info [REGEXP]        list the caches
    (gdb) slab object ADDRESS       identify a pointer
"""

import re
import subprocess
import time

import gdb

SEGMENT_SHIFT = 24
SEGMENT_SIZE = 1 << SEGMENT_SHIFT
SEGMENT_HEAD_OFFSET = 65536
SEGMENT_UNIT_SHIFT = 14
SEGMENT_UNITS = 1 << (SEGMENT_SHIFT - SEGMENT_UNIT_SHIFT)
SEGMENT_TABLE_OFFSET = SEGMENT_HEAD_OFFSET + 4096 + 8 * SEGMENT_UNITS
MARK_LARGE_REST = 2
CPU_ROW_SHIFT = 17
TAG_DEBUG, TAGS = 1, 7
WORD_POINTER = (1 << 48) - 1
SLAB_EMPTY, SLAB_FULL = 8, 9
MAGAZINES_MAX = 4
DEPOT_UNITS = (1 << 20) // 8
DEBUG_FLAGS = (("F", 0), ("Z", 1), ("P", 2), ("U", 3), ("T", 4), ("A", 5))
OBJECT_FREE, OBJECT_ALLOCATED, OBJECT_LOST = 0x46, 0x41, 0x4C


def global_variable(name):
    symbol = gdb.lookup_global_symbol(name)
    if symbol is None:
        raise gdb.GdbError(
            "no libslab with debug information in this process: run it, or attach to it, first"
        )
    return symbol.value()


def pointer_to(type_name, address):
    return gdb.Value(address).cast(gdb.lookup_type(type_name).pointer())


def read64(address):
    return int(pointer_to("unsigned long", address).dereference())


def debug_flags_text(debug_flags):
    return "".join(character for character, bit in DEBUG_FLAGS if debug_flags >> bit & 1) or "-"


# --- where things are ------------------------------------------------------------


def caches():
    cache = global_variable("registry_first")
    while int(cache):
        yield cache
        cache = cache["next"]


def type_names(tokens):
    """What slab-symbolize finds for names of caches of types in the files of the process, if it is in PATH."""
    files = [file.filename for file in gdb.objfiles() if (file.filename or "").startswith("/")]
    try:
        found = subprocess.run(
            ["slab-symbolize", *files], input="\n".join(tokens), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return tokens
    return found.stdout.split("\n")


known_names = {}


def name_of(cache):
    """A type may have no name in the process: then that in the debug information."""
    name = cache["name"].string()
    if name.startswith("token-") and name not in known_names:
        tokens = [name] + [other for other in (one["name"].string() for one in caches()) if other.startswith("token-")]
        known_names.update(zip(tokens, type_names(tokens)))
    return known_names.get(name, name)


def segments():
    segment = global_variable("slab_pages")["segments"]
    while int(segment):
        yield segment
        segment = segment["next"]


def slabs(segment):
    table, before = int(segment) - SEGMENT_HEAD_OFFSET + SEGMENT_TABLE_OFFSET, 0
    for unit in range(SEGMENT_UNITS):
        entry = read64(table + 8 * unit)
        if entry and entry != before:
            yield pointer_to("struct slab", entry)
        before = entry


def mark_of(address):
    """segment_mark_of()"""
    marks, n = global_variable("segment_marks"), address >> SEGMENT_SHIFT
    window, size = int(global_variable("segment_window")), marks.type.range()[1] + 1
    if window <= n < window + size:
        return int(marks[n - window])
    far = global_variable("segment_far_marks")
    table = int(far[n // size]) if n // size <= far.type.range()[1] else 0
    return int(pointer_to("unsigned char", table + n % size).dereference()) if table else 0


def slab_at(address):
    """The slab of an address; None: it is not memory of libslab (large_slab_of())."""
    start = address & ~(SEGMENT_SIZE - 1)
    while mark_of(start) == MARK_LARGE_REST:
        start -= SEGMENT_SIZE
    giant = global_variable("segment_giants")  # giant_with()
    while not mark_of(start) and int(giant):
        first = int(giant) - SEGMENT_HEAD_OFFSET
        if first < address < first + int(giant["mapped"]):
            start = first
        giant = giant["next_room"]
    segment = pointer_to("struct segment", start + SEGMENT_HEAD_OFFSET)
    if not mark_of(start) or address >= start + int(segment["mapped"]):
        return None
    table = start + SEGMENT_TABLE_OFFSET
    entry = read64(table + 8 * (address >> SEGMENT_UNIT_SHIFT & SEGMENT_UNITS - 1))
    return pointer_to("struct slab", entry) if entry else global_variable("slab_none").address


def user_of(slab):
    """The cache of a slab, or None."""
    user = int(slab["user"]) & ~TAGS
    return pointer_to("struct slab_cache", user) if user else None


def is_tagged(slab):
    return bool(int(slab["user"]) & TAG_DEBUG)


def cpus():
    return int(global_variable("cpu_possible_count"))


# --- slabs and objects -----------------------------------------------------------


def size_of(cache, slab):
    """Bytes from object to object."""
    return int(slab["debug"]["size"] if is_tagged(slab) and int(slab["debug"]) else cache["size"])


def is_free(slab, index):
    return bool(read64(int(slab["map"].address) + 8 * (index // 64)) >> index % 64 & 1)


def cpu_array(cache, cpu):
    """A CPU's array (cpu_cache/arrays.h), and the number of its objects."""
    offset = gdb.lookup_type("struct cpu_array")["count"].bitpos // 8
    row = int(cache["own_arrays"]) + (cpu << CPU_ROW_SHIFT) - offset
    array = pointer_to("struct cpu_array", row)
    count = int(array["count"])
    return array, count >> 48 if global_variable("cpu_engine")["pairs"] else count


def array_objects(cache, cpu):
    """The addresses of the objects in a CPU's array."""
    array, n = cpu_array(cache, cpu)
    first = int(array) + array.type.target().sizeof
    if not global_variable("cpu_engine")["pairs"]:
        return [read64(first + 8 * i) for i in range(n)]
    newest = [int(array["count"]) & WORD_POINTER] if n else []
    return [read64(first + 16 * i) for i in range(n - 1)] + newest


def depots(cache):
    """The magazines of each node."""
    node = cache["node"][0].address  # of this type: the C library has another struct cache_node
    for n in range(int(global_variable("topology_node_count"))):
        yield (node + n)["depot"]


def unused_objects(cache):
    """Free objects that are in use to their slabs: those of CPUs, magazines and the reserve."""
    in_arrays = sum(cpu_array(cache, cpu)[1] for cpu in range(cpus()))
    in_magazines = sum(int(depot["objects"]) for depot in depots(cache))
    return in_arrays + in_magazines + int(cache["memory"]["reserve_left"])


def contains(pointers, count, address):
    """Is the address one of the first `count` entries of an array of pointers?"""
    last = pointers.type.range()[1]
    return any(int(pointers[i]) == address for i in range(min(count, last + 1)))


def held_by_node(cache, address):
    """Free, but in a magazine."""
    for n, depot in enumerate(depots(cache)):
        for i in range(min(int(depot["full"]), MAGAZINES_MAX)):
            magazine = depot["magazine"][i]
            if contains(magazine["obj"], int(magazine["count"]), address):
                return f"free: in a magazine of node {n}"
    return None


def held_by_cpu(cache, address):
    """Free, but in the array of a CPU."""
    for cpu in range(cpus()):
        if address in array_objects(cache, cpu):
            return f"free: in the array of CPU {cpu}"
    return None


def record_of(slab, index):
    debug = slab["debug"]
    at = int(debug) + debug.type.target().sizeof + index * int(debug["stride"])
    return pointer_to("struct debug_object", at)


def plain_state(cache, slab, index, address):
    if index >= int(slab["initialized"]):
        return "never handed out"
    if is_free(slab, index):
        return "free"
    held = held_by_cpu(cache, address) or held_by_node(cache, address)
    return held or "allocated"


def debug_state(slab, index):
    record = record_of(slab, index)
    state = int(record["state"])
    if state == OBJECT_ALLOCATED:
        requested = int(record["requested"])
        if requested != int(slab["debug"]["object_size"]):
            return f"allocated, {requested} bytes asked for"
        return "allocated"
    return {OBJECT_FREE: "free", OBJECT_LOST: "damaged, not handed out again"}.get(
        state, f"of unknown state 0x{state:x}"
    )


def slab_state(slab):
    if is_tagged(slab):
        if not int(slab["debug"]):
            return "legacy layout"
        debug_flags = debug_flags_text(int(slab["debug"]["debug_flags"]))
        out_of_use = ", out of use" if int(slab["debug"]["disabled"]) else ""
        return f"debug flags {debug_flags}{out_of_use}"
    bucket = int(slab["bucket"])
    if bucket < SLAB_EMPTY:
        return f"partial, of a shard of node {int(slab['node'])}"
    return {SLAB_EMPTY: "empty", SLAB_FULL: "full"}.get(bucket, "off the lists")


def used_objects(slab):
    if is_tagged(slab) and int(slab["debug"]):
        return int(slab["debug"]["used"])
    return int(slab["initialized"]) - int(slab["free"])


# --- tracks ------------------------------------------------------------------------


def depot_frames(stack):
    """Return addresses of a stack, innermost first."""
    if not stack:
        return []
    depot = global_variable("depot_stacks")
    chunk = int(depot["chunk"][stack // DEPOT_UNITS])
    at = chunk + stack % DEPOT_UNITS * 8
    count = int(pointer_to("struct stack_record", at)["signature"]) & 63
    return [read64(at + 8 + 8 * i) for i in range(count)]


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
    connection = gdb.selected_inferior().connection
    if connection is not None and connection.type == "native":
        return f"{int(time.monotonic() * 1000) - when} ms ago"
    return f"at {when} ms of the monotonic clock"


def thread_name(name):
    if not name:
        return "?"
    names = int(global_variable("track_names"))
    low, high = (read64(names + 16 * name + 8 * i) & (1 << 64) - 1 for i in (0, 1))
    raw = low.to_bytes(8, "little") + (high & ~(1 << 63)).to_bytes(8, "little")
    return raw.split(b"\0")[0].decode(errors="replace")


def print_track(what, track):
    if not int(track["tid"]):
        return
    print(
        f"{what} {age_text(int(track['when']))} by tid {int(track['tid'])}"
        f" ({thread_name(int(track['name']))}) on CPU {int(track['cpu'])}"
    )
    n = 0
    for pc in depot_frames(int(track["stack"])):
        for function in functions_at(pc) if pc else ["..."]:
            print(f"    #{n} {function}")
            n += 1


def print_tracks(slab, index):
    if not int(slab["debug"]["debug_flags"]) >> 3 & 1:
        return
    record = record_of(slab, index)
    tracks = pointer_to("struct track", int(record) + record.dereference().type.sizeof)
    print_track("allocated", tracks[0])
    print_track("freed", tracks[1])


# --- commands --------------------------------------------------------------------------


def describe_object(address):
    slab = slab_at(address)
    if slab is None:
        print(f"0x{address:x} is not memory of libslab")
        return
    cache = user_of(slab)
    if cache is None:
        large = int(slab["large"])
        base = int(slab["base"])
        if large and address >= base:
            print(f"0x{address:x} is {address - base} bytes into {large} bytes of slab_malloc()")
        else:
            print(f"0x{address:x} is memory of libslab that no cache has: free, or its own")
        return
    has_debug = is_tagged(slab) and int(slab["debug"])
    size = size_of(cache, slab)
    left = int(slab["debug"]["red_left"]) if has_debug else 0
    index = (address - int(slab["base"])) // size
    start = int(slab["base"]) + index * size + left
    object_size = int(slab["debug"]["object_size"]) if has_debug else int(cache["object_size"])
    if index >= int(slab["objects"]):
        print(f"0x{address:x} is behind the last object of a slab of {name_of(cache)}")
        return
    if has_debug:
        state = debug_state(slab, index)
    else:
        state = plain_state(cache, slab, index, start)
    print(
        f"0x{address:x} is {address - start} bytes from the start of object 0x{start:x}"
        f" of cache {name_of(cache)} ({object_size} bytes)"
    )
    print(f"object  {index} of its slab: {state}")
    print(
        f"slab    0x{int(slab):x} objects={int(slab['objects'])} used={used_objects(slab)}:"
        f" {slab_state(slab)}"
    )
    if has_debug:
        print_tracks(slab, index)


def cache_rows():
    """{cache address: [slabs, objects that are in use to them]} by one look at every slab."""
    rows = {}
    for segment in segments():
        for slab in slabs(segment):
            cache = user_of(slab)
            if cache is None:
                continue
            row = rows.setdefault(int(cache), [0, 0])
            row[0] += 1
            row[1] += used_objects(slab)
    return rows


def one_line_errors(invoke):
    """An error in a command prints one line, never a Python stack."""

    def guarded(self, argument, from_tty):
        try:
            invoke(self, argument, from_tty)
        except gdb.GdbError:
            raise
        except re.error as error:
            raise gdb.GdbError(f"'{argument}' is no regular expression: {error}")
        except gdb.MemoryError as error:
            raise gdb.GdbError(f"libslab's memory cannot be read here: {error}")
        except gdb.error as error:
            raise gdb.GdbError(str(error))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise gdb.GdbError(f"the data there is not what this script expects: {error}")

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
        rows = cache_rows()
        print(f"{'Name':<24}{'Objects':>10}{'Objsize':>9}{'Slabs':>8}  {'Flags':<8}Cache")
        for cache in caches():
            name = name_of(cache)
            if not wanted.search(name):
                continue
            count, used = rows.get(int(cache), (0, 0))
            objects = max(0, used - unused_objects(cache))
            print(
                f"{name:<24}{objects:>10}{int(cache['object_size']):>9}{count:>8}  "
                f"{debug_flags_text(int(cache['debug_flags'])):<8}0x{int(cache):x}"
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
