# SPDX-License-Identifier: MIT
"""What a 64-bit little-endian ELF file has: probes of libslab, and a dynamic linker."""
import mmap
import re
import struct

# A note of <sys/sdt.h>: the note's name, three addresses, the provider.
PROBE = re.compile(rb"stapsdt\0.{24}libslab\0", re.DOTALL)


def _has_interpreter(data):
    table, = struct.unpack_from("<Q", data, 32)
    size, number = struct.unpack_from("<HH", data, 54)
    return any(struct.unpack_from("<I", data, table + i * size)[0] == 3  # PT_INTERP
               for i in range(number))


def _look(path, question):
    """The answer of a file's contents; False: it is no such file, or cannot be read."""
    try:
        with open(path, "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return data[:6] == b"\x7fELF\x02\x01" and question(data)
    except (OSError, ValueError, struct.error):
        return False


def has_probes(path):
    """Does the file have probes of libslab?"""
    return _look(path, lambda data: PROBE.search(data) is not None)


def is_dynamic(path):
    """Is it a program that the dynamic linker loads?"""
    return _look(path, _has_interpreter)
