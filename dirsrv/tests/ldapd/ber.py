# SPDX-License-Identifier: MIT
"""Messages of LDAP as bytes, for tests that send what no library sends."""
import struct


def element(tag, content):
    """BER: a tag, a length, the content."""
    length = len(content)
    if length < 128:
        return bytes([tag, length]) + content
    return bytes([tag, 0x84]) + struct.pack(">I", length) + content


def text(value):
    return element(4, value.encode())


def number(value):
    return element(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def enumerated(value):
    return element(10, bytes([value]))


def message(message_id, *parts):
    return element(0x30, number(message_id) + b"".join(parts))


PRESENT = element(0x87, b"objectClass")


def search(message_id, base="", scope=0, attributes=(), find=PRESENT, controls=b""):
    content = text(base) + enumerated(scope) + enumerated(0) + number(0) + number(0) + \
        element(1, b"\0") + find + element(0x30, b"".join(text(name) for name in attributes))
    return message(message_id, element(0x63, content), controls)


def message_end(data):
    """The length of the first message in data; 0: it is not complete."""
    if len(data) < 2:
        return 0
    length, header = data[1], 2
    if length & 0x80:
        count = length & 0x7f
        if len(data) < 2 + count:
            return 0
        length, header = int.from_bytes(data[2:2 + count], "big"), 2 + count
    return header + length if len(data) >= header + length else 0
