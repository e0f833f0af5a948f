# SPDX-License-Identifier: MIT
"""What of a process's live bytes has a type."""
import collections
import re


def live_bytes(answer):
    """{type: bytes}, of slabinfo --json: the classes of a type together."""
    types = collections.Counter({"(no type, above 32 KiB)": answer["process"]["large_bytes"]})
    for cache in answer["caches"]:
        name, large = re.sub(r"-\d+k?$", "", cache["name"]), cache.get("large_bytes", 0)
        types["(no type)" if name == "size" else name] += cache["objects"] * cache["object_size"] + large
        types["(no type, above 32 KiB)"] -= large
    return types


def named(types):
    """The share of those that have a name, 0 to 1."""
    return sum(number for name, number in types.items() if not name.startswith(("(", "token-"))) / sum(types.values())
