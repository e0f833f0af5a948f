# SPDX-License-Identifier: MIT
"""A flame graph: each function is a box as wide as its share of the samples, above its caller."""
import zlib
from html import escape

WIDTH, MARGIN, ROW, TOP = 1200, 10, 17, 54
LETTER = 6.6  # width of a letter of the font
LEAST = 0.4  # narrower boxes are left out

# Hue, saturation and name of each kind of code.
KINDS = {
    "slab": (212, 70, "libslab"),
    "kernel": (130, 35, "kernel"),
    "other": (32, 75, "other code"),
}


def is_slab(file):
    return file.startswith(("libslab.so", "libslab_malloc.so"))


def kind_of(file):
    if is_slab(file):
        return "slab"
    return "kernel" if file.startswith("[kernel") or file.endswith(".ko") else "other"


class Node:
    """A function as called through one chain of callers."""

    def __init__(self):
        self.count = 0
        self.callees = {}

    def add(self, frames):
        node = self
        node.count += 1
        for frame in frames:
            node = node.callees.setdefault(frame, Node())
            node.count += 1

    def depth(self):
        return 1 + max((node.depth() for node in self.callees.values()), default=0)


def colour(name, kind):
    """Neighbours differ a little in lightness, the same function never does."""
    hue, saturation, _ = KINDS[kind]
    return f"hsl({hue},{saturation}%,{64 + zlib.crc32(name.encode()) % 14}%)"


def text(x, y, words, style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{escape(words)}</text>'


def box(x, y, width, name, kind, count, total):
    letters = int((width - 4) / LETTER)
    label = name if len(name) <= letters else name[:letters - 2] + ".." if letters > 3 else ""
    title = f"{name}: {count} samples, {count / total:.1%}"
    return (f'<g><title>{escape(title)}</title><rect x="{x:.1f}" y="{y:.1f}" '
            f'width="{max(width - 0.5, 0.3):.1f}" height="{ROW - 1}" '
            f'fill="{colour(name, kind)}"/>' + (text(x + 2, y + 12, label) if label else "") + "</g>")


def boxes(node, x, y, scale, total):
    """The callees of a node, side by side by name, and theirs above them."""
    for (name, file), callee in sorted(node.callees.items()):
        width = callee.count * scale
        if width >= LEAST:
            yield box(x, y, width, name, kind_of(file), callee.count, total)
            yield from boxes(callee, x, y - ROW, scale, total)
        x += width


def legend():
    x = MARGIN
    for kind, (_, _, name) in KINDS.items():
        yield f'<rect x="{x}" y="31" width="12" height="12" fill="{colour("", kind)}"/>'
        yield text(x + 17, 41, name)
        x += 110


def draw(stacks, title):
    """The picture of [[(function, file)]], each from the outermost function on."""
    root = Node()
    for frames in stacks:
        root.add(frames)
    height = TOP + root.depth() * ROW + MARGIN
    scale = (WIDTH - 2 * MARGIN) / root.count
    bottom = height - MARGIN - ROW
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="monospace" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(MARGIN, 20, title, ' font-size="14" font-weight="bold"'),
        *legend(),
        box(MARGIN, bottom, WIDTH - 2 * MARGIN, "all", "other", root.count, root.count),
        *boxes(root, MARGIN, bottom - ROW, scale, root.count),
        "</svg>", ""])
