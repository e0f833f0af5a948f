# SPDX-License-Identifier: MIT
"""The gdb commands `slab objects`, `slab verify` and `slab traces`.

slab-gdb.py loads this file and has the functions that it uses. These commands look at all objects of a
cache, so they read whole lists and slabs at once. A program with a hundred thousand objects takes some
seconds; `slabinfo -v --core FILE` checks the same, and more, in less than one.
"""

import struct

OBJECT_WAITING = 0x57
LEGACY_FREE = 0xFFFF
POISON_INUSE, POISON_FREE, POISON_END = 0x5A, 0x6B, 0xA5
RED_INACTIVE, RED_ACTIVE = 0xBB, 0xCC
FLAG_RED_ZONE, FLAG_POISON, FLAG_TRACKS = 1 << 1, 1 << 2, 1 << 3
TRACK_BYTES = 16
RECORD_STATES = {
    OBJECT_FREE: "free",
    OBJECT_ALLOCATED: "allocated",
    OBJECT_LOST: "damaged",
    OBJECT_WAITING: "waiting for a grace period",
}


def read_bytes(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def read_words(address, count, letter):
    size = struct.calcsize(letter)
    return struct.unpack(f"<{count}{letter}", read_bytes(address, count * size))


def cache_called(name):
    """The cache with this name; an alias counts, too."""
    for cache in caches():
        names = [cache["name"].string()]
        names += [cache["alias"][i].string() for i in range(int(cache["aliases"]))]
        if name in names:
            return cache
    raise gdb.GdbError(f"no cache is called '{name}'; slab info lists them")


def slabs_of(cache):
    for segment in segments():
        for slab in slabs(segment):
            if int(slab["cpu"]["user"]) & ~TAGS == int(cache):
                yield slab


def size_of(slab):
    return int(slab["cpu"]["size8"]) * 8


# --- states of objects ---------------------------------------------------------------


class Faults:
    """The problems of a cache, printed as they are found."""

    def __init__(self, cache):
        self.name = cache["name"].string()
        self.count = 0

    def add(self, text):
        self.count += 1
        print(f"BUG {self.name}: {text}")


def pointers(array, count):
    """The first `count` pointers of an array."""
    room = array.type.range()[1] + 1
    count = min(int(count), room)
    return read_words(int(array.address), count, "Q") if count else ()


def rcu_lifo(cache, cpu):
    return pointer_to("struct cpu_lifo", int(cache["rcu_lifos"]) + (cpu << CPU_AREA_SHIFT))


def held_objects(cache):
    """{address: where}: free objects that lie beside their slabs."""
    held = {}
    for cpu, slot in slots(cache):
        of_cpu = lifo(cache, cpu)
        for address in pointers(of_cpu["obj"], of_cpu["count"]):
            held[address] = f"free: in the LIFO of CPU {cpu}"
        if int(cache["rcu"]):
            waiting = rcu_lifo(cache, cpu)
            for address in pointers(waiting["obj"], waiting["count"]):
                held[address] = RECORD_STATES[OBJECT_WAITING]
        batch = int(slot["remote_batch"])
        if batch >> 48:
            base = int(pointer_to("struct slab", batch & WORD_POINTER)["cpu"]["base"])
            for i in range(min(batch >> 48, 64)):
                address = base + int(slot["remote_batch_buf"][i]) * 8
                held[address] = f"free: in the remote batch of CPU {cpu} for the slab's owner"
    held.update(held_in_nodes(cache))
    return held


def nodes_of(cache):
    first, size = int(cache["node"].address), gdb.lookup_type("struct cache_node").sizeof
    for n in range(int(global_variable("topology_node_count"))):
        yield n, pointer_to("struct cache_node", first + n * size)


def held_in_nodes(cache):
    held = {}
    for n, node in nodes_of(cache):
        for i in range(min(int(node["magazines"]), MAGAZINES_MAX)):
            magazine = node["rest"]["magazine"][i]
            for address in pointers(magazine["obj"], magazine["count"]):
                held[address] = f"free: in a magazine of node {n}"
    if int(cache["reserve"]):
        obj = int(cache["reserve"]["obj"].address)
        for address in read_words(obj, int(cache["memory"]["reserve_left"]), "Q"):
            held[address] = "free: in the reserve"
    return held


def chain(links, first, count):
    """Indices of a chain of links, and whether its length is the count."""
    found = []
    while first and len(found) < count and first <= len(links):
        found.append(first - 1)
        first = links[first - 1]
    return found, len(found) == count and not first


def own_list(slab):
    word, size8 = int(slab["freelist"]["local"]), int(slab["cpu"]["size8"])
    objects = int(slab["objects"])
    stack = read_words(int(slab) + SLAB_STACK, objects, "H") if objects else ()
    if has_links():
        return chain(stack, word & 0xFFFF, word >> 16 & 0xFFFF)
    height = word & 0xFFFFFFFF
    entries = stack[: min(height, objects)]
    return [e // size8 if e % size8 == 0 else objects for e in entries], height <= objects


def link_lists(slab):
    """[(indices, length is right, state)] of the lists that links[] links."""
    remote, lists = int(slab["remote"]), []
    waiting = [int(slab["waiting"][i]) for i in (0, 1)]
    if not remote & 0xFFFF and not any(waiting):
        return lists
    links = read_words(int(slab["links"]), int(slab["objects"]), "H")
    lists.append((*chain(links, remote & 0xFFFF, remote >> 16 & 0xFFFF), "free"))
    for word in waiting:
        found, _ = chain(links, word & 0xFFFF, word >> 32)
        lists.append((found, True, RECORD_STATES[OBJECT_WAITING]))
    return lists


def states_of_lists(slab, held, faults):
    """States of the objects of a slab without debug flags."""
    initialized, base, size = int(slab["initialized"]), int(slab["cpu"]["base"]), size_of(slab)
    states = ["allocated"] * initialized
    bad = 0
    for indices, whole, state in [(*own_list(slab), "free"), *link_lists(slab)]:
        if not whole and faults:
            faults.add(f"Wrong object count in slab 0x{int(slab):x}")
        for index in indices:
            if index >= initialized or states[index] != "allocated":
                bad += 1
            else:
                states[index] = state
    if bad and faults:
        faults.add(
            f"Freechain corrupt in slab 0x{int(slab):x}: {bad} of its entries lead to no"
            " object, or to one twice"
        )
    for index in range(initialized):
        where = held.get(base + index * size)
        if where and states[index] == "allocated":
            states[index] = where
        elif where and faults:
            faults.add(f"Object 0x{base + index * size:x} is free and {where}")
    return states


def states_of_legacy(slab):
    entries = read_words(int(slab) + SLAB_STACK, int(slab["initialized"]), "H")
    return ["free" if entry == LEGACY_FREE else "allocated" for entry in entries]


def records_of(slab):
    """(requested bytes, index of the next free object + 1, state) of each object, and all bytes."""
    debug = slab["debug"]
    stride, count = int(debug["stride"]), int(slab["initialized"])
    raw = read_bytes(int(debug) + debug.type.target().sizeof, stride * count)
    return [struct.unpack_from("<IHB", raw, i * stride) for i in range(count)], raw


def states_of(slab, held, faults=None):
    if not is_tagged(slab):
        return states_of_lists(slab, held, faults)
    if not int(slab["debug"]):
        return states_of_legacy(slab)
    return [RECORD_STATES.get(state, f"0x{state:x}") for _, _, state in records_of(slab)[0]]


def first_object(slab):
    left = int(slab["debug"]["red_left"]) if is_tagged(slab) and int(slab["debug"]) else 0
    return int(slab["cpu"]["base"]) + left


# --- checks ----------------------------------------------------------------------------


def expected_regions(debug, record, memory, at, size, copy):
    """(what, bytes found, bytes expected) of an object's place, as slab/bug/layout.c has it."""
    flags, object_size = int(debug["debug_flags"]), int(debug["object_size"])
    left, inuse = int(debug["red_left"]), int(debug["inuse"])
    requested, _, state = record
    is_free = state == OBJECT_FREE
    red = RED_INACTIVE if is_free else RED_ACTIVE
    start = at + left
    end = start + object_size
    spans = []
    if flags & FLAG_RED_ZONE:
        spans.append(("Left Redzone", at, start, red))
        spans.append(("Right Redzone", end, start + inuse, red))
        if not is_free and requested < object_size:
            spans.append(("slab_malloc Redzone", start + requested, end, red))
    elif flags & FLAG_POISON:
        spans.append(("Alignment padding", end, start + inuse, POISON_INUSE))
    if int(debug["poisons"]) and is_free:
        spans.append(("Poison", start, end - 1, POISON_FREE))
        spans.append(("End Poison", end - 1, end, POISON_END))
    if flags & FLAG_POISON:
        spans.append(("Object padding", start + inuse, at + size, POISON_INUSE))
    for what, first, last, value in spans:
        yield what, first, memory[first:last], bytes([value]) * (last - first)
    if int(debug["copies"]) and is_free:
        yield "Free object", start, memory[start:end], copy


def verify_bytes(slab, records, raw, faults):
    debug, size, base = slab["debug"], size_of(slab), int(slab["cpu"]["base"])
    memory = read_bytes(base, size * int(slab["initialized"]))
    stride, object_size = int(debug["stride"]), int(debug["object_size"])
    tracks = 2 * TRACK_BYTES if int(debug["debug_flags"]) & FLAG_TRACKS else 0
    for index, record in enumerate(records):
        saved = index * stride + 8 + tracks
        copy = raw[saved : saved + object_size]
        for what, at, found, expected in expected_regions(
            debug, record, memory, index * size, size, copy
        ):
            if found == expected:
                continue
            n = next(i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1])
            faults.add(
                f"{what} overwritten: 0x{base + at + n:x}, first byte 0x{found[n]:02x} instead"
                f" of 0x{expected[n]:02x}, object 0x{base + index * size + int(debug['red_left']):x}"
            )


def verify_debug(slab, faults):
    debug, used = slab["debug"], 0
    records, raw = records_of(slab)
    free, next_index = [], int(debug["first"])
    while next_index and len(free) <= len(records):
        if next_index > len(records) or records[next_index - 1][2] != OBJECT_FREE:
            faults.add(f"Freepointer corrupt in slab 0x{int(slab):x}")
            break
        free.append(next_index - 1)
        next_index = records[next_index - 1][1]
    used = len(records) - len(free)
    if not next_index and used != int(debug["used"]):
        faults.add(
            f"Wrong object count in slab 0x{int(slab):x}: Counter is {int(debug['used'])} but"
            f" counted were {used}"
        )
    if not int(debug["guarded"]):
        verify_bytes(slab, records, raw, faults)


def verify_list(cache, n, node, name, faults):
    """Follow a list of a node; its slabs must be listed slabs of this cache."""
    slab, count = node[name]["slabs"]["first"], 0
    while int(slab):
        if int(slab["cpu"]["user"]) & ~TAGS != int(cache) or not int(slab["listed"]):
            faults.add(f"{name} list of node {n}: slab 0x{int(slab):x} does not belong on it")
            return
        count += 1
        if count > int(node["nr_slabs"]):
            faults.add(f"{name} list of node {n} leads in a circle")
            return
        slab = slab["next"]
    if count != int(node[name]["count"]):
        faults.add(
            f"{count} slabs on the {name} list of node {n} but counter={int(node[name]['count'])}"
        )


def verify_cache(cache):
    faults, held, count = Faults(cache), held_objects(cache), 0
    for slab in slabs_of(cache):
        count += 1
        if is_tagged(slab) and int(slab["debug"]):
            verify_debug(slab, faults)
        else:
            states_of(slab, held, faults)
    for n, node in nodes_of(cache):
        for name in ("partial", "sparse"):
            verify_list(cache, n, node, name, faults)
    said = f"{faults.count} problems found" if faults.count else "no problems found"
    print(f"{faults.name:<24}{count} slabs: {said}")


# --- call sites ---------------------------------------------------------------------------


def collect_traces(cache):
    """[allocated, freed]: {stack: [objects, oldest, newest]}"""
    found = [{}, {}]
    for slab in slabs_of(cache):
        if not is_tagged(slab) or not int(slab["debug"]):
            continue
        if not int(slab["debug"]["debug_flags"]) & FLAG_TRACKS:
            continue
        records, raw = records_of(slab)
        stride = int(slab["debug"]["stride"])
        for index, (_, _, state) in enumerate(records):
            which = 0 if state == OBJECT_ALLOCATED else 1
            at = index * stride + 8 + which * TRACK_BYTES
            stack, tid, when = struct.unpack_from("<IIQ", raw, at)
            when &= (1 << 40) - 1
            if tid:
                site = found[which].setdefault(stack, [0, when, when])
                site[:] = site[0] + 1, min(site[1], when), max(site[2], when)
    return found


def print_traces(cache):
    name, found = cache["name"].string(), collect_traces(cache)
    if not any(found):
        print(f"{name}: no call sites are recorded; debug flag U records them")
        return
    for what, sites in zip(("allocated", "freed"), found):
        print(f"{name}: {what} objects by call site")
        for stack, (count, oldest, _) in sorted(sites.items(), key=lambda s: -s[1][0]):
            print(f"{count:>8} objects, the oldest {age_text(oldest)}")
            for n, pc in enumerate(depot_frames(stack)):
                print(f"    #{n} {frame_text(pc)}")


# --- commands --------------------------------------------------------------------------------


class SlabObjects(gdb.Command):
    """slab objects CACHE [STATE]: the cache's objects with their addresses and states, or those
    whose state begins with STATE: allocated, free, waiting, damaged."""

    def __init__(self):
        super().__init__("slab objects", gdb.COMMAND_DATA)

    @one_line_errors
    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not 1 <= len(words) <= 2:
            raise gdb.GdbError("slab objects needs the name of a cache, and perhaps a state")
        cache, wanted, shown = cache_called(words[0]), "".join(words[1:]), 0
        held = held_objects(cache)
        for slab in slabs_of(cache):
            first, size = first_object(slab), size_of(slab)
            for index, state in enumerate(states_of(slab, held)):
                if state.startswith(wanted):
                    shown += 1
                    print(f"0x{first + index * size:x} {state}")
        print(f"{shown} objects of cache {cache['name'].string()}")


class SlabVerify(gdb.Command):
    """slab verify [CACHE]: check freelists, lists, red zones and poison of one cache or of all."""

    def __init__(self):
        super().__init__("slab verify", gdb.COMMAND_DATA)

    @one_line_errors
    def invoke(self, argument, from_tty):
        for cache in [cache_called(argument)] if argument else list(caches()):
            verify_cache(cache)


class SlabTraces(gdb.Command):
    """slab traces CACHE: the call sites of its objects with debug flag U, most objects first."""

    def __init__(self):
        super().__init__("slab traces", gdb.COMMAND_DATA)

    @one_line_errors
    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("slab traces needs the name of a cache")
        print_traces(cache_called(argument))


SlabObjects()
SlabVerify()
SlabTraces()
