# SPDX-License-Identifier: MIT
"""What a 64-bit little-endian ELF file has: probes, which are the notes of <sys/sdt.h> in
.note.stapsdt, and a dynamic linker."""
import mmap
import struct

PROVIDER = b"libslab"
NOTE_TYPE = 3


def _sections(data):
    """(type, offset, size) of each section."""
    table, = struct.unpack_from("<Q", data, 40)
    size, number, _ = struct.unpack_from("<HHH", data, 58)
    for i in range(number):
        _, kind, _, _, offset, length = struct.unpack_from("<IIQQQQ", data, table + i * size)
        yield kind, offset, length


def _notes(data, offset, end):
    """(name, type, contents) of each note."""
    while offset + 12 <= end:
        name_size, size, kind = struct.unpack_from("<III", data, offset)
        offset += 12
        name = data[offset:offset + name_size].rstrip(b"\0")
        offset += (name_size + 3) & ~3
        yield name, kind, data[offset:offset + size]
        offset += (size + 3) & ~3


def _names(data):
    if data[:6] != b"\x7fELF\x02\x01":
        return
    for kind, offset, size in _sections(data):
        if kind != 7:  # SHT_NOTE
            continue
        for name, note, contents in _notes(data, offset, offset + size):
            if name != b"stapsdt" or note != NOTE_TYPE:
                continue
            provider, probe = contents[24:].split(b"\0")[:2]
            if provider == PROVIDER:
                yield probe.decode()


def _has_interpreter(data):
    table, = struct.unpack_from("<Q", data, 32)
    size, number = struct.unpack_from("<HH", data, 54)
    return data[:6] == b"\x7fELF\x02\x01" and any(
        struct.unpack_from("<I", data, table + i * size)[0] == 3  # PT_INTERP
        for i in range(number))


def _look(path, question, otherwise):
    try:
        with open(path, "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return question(data)
    except (OSError, ValueError, struct.error):
        return otherwise


def probes(path):
    """The names of libslab's probes in a file; empty: none, or it is no ELF file."""
    return _look(path, lambda data: set(_names(data)), set())


def is_dynamic(path):
    """Is it a program that the dynamic linker loads?"""
    return _look(path, _has_interpreter, False)
