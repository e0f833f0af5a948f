# SPDX-License-Identifier: MIT
"""The chart: trapped memory and busy locks over the number of CPUs, on logarithmic scales."""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import model
import queueing
from svg import STYLE, text
import tables

WIDTH, HEIGHT = 1240, 550
PANEL_WIDTH, PANEL_HEIGHT = 300, 300
TOP, LEFT, GAP = 92, 56, 96
CPUS = [64, 128, 256, 512]
COLOURS = {
    "libslab": "#e4472b",
    "libslab after decay": "#f0916f",
    "SLAB": "#2fa084",
    "sheaves": "#b98a2f",
    "jemalloc": "#3b82c4",
    "jemalloc, 4 threads a CPU": "#1f5a94",
    "mimalloc": "#8f6fc9",
    "mimalloc, 4 threads a CPU": "#5e35b1",
}
LOCK_COLOURS = ["#e4472b", "#f0916f", "#a3203f", "#d6247e", "#2fa084", "#4d5b2f", "#b98a2f"]


def machine(cpus):
    """The machine of the tables with this number of CPUs."""
    return next(m for m in tables.MACHINES if m.cpus == cpus)


def memory_lines(cpus_of_cache):
    """[(name, colour, [bytes for each machine])]."""
    return [
        (name, COLOURS[name], [tables.trapped_bytes(name, machine(c), cpus_of_cache) for c in CPUS])
        for name in tables.DESIGNS
    ]


def lock_lines(inputs):
    """[(name, colour, [utilisation for each machine])]."""
    lines = []
    for lock, colour in zip(tables.locks(inputs), LOCK_COLOURS):
        most = queueing.cpus_at_saturation(lock.rate, lock.acquisitions, lock.hold)
        busy = [(c / machine(c).nodes if lock.of_node else c) / most for c in CPUS]
        name = lock.name.replace(" of a node", "").replace(" of a cache", "")
        lines.append((f"{name}: {lock.load.replace(' at full speed', '')}", colour, busy))
    return lines


def panel(left, title, note, lines, unit, low, high):
    """One panel with its lines; low and high are powers of ten."""
    def x(cpus):
        return left + (math.log2(cpus) - math.log2(CPUS[0])) / 3 * PANEL_WIDTH

    def y(value):
        share = (math.log10(max(value, 10**low)) - low) / (high - low)
        return TOP + PANEL_HEIGHT * (1 - min(share, 1))

    right, bottom = left + PANEL_WIDTH, TOP + PANEL_HEIGHT
    out = [
        text(left, TOP - 34, title, 14, weight="bold"),
        text(left, TOP - 16, note, 11, css="dim"),
        f'<rect class="panel" x="{left}" y="{TOP}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}"/>',
    ]
    for power in range(low, high + 1):
        at = y(10**power)
        out.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        out.append(text(left - 6, at + 4, unit(10**power), 11, "end", "dim"))
    for cpus in CPUS:
        label = f"{cpus} CPUs" if cpus == CPUS[-1] else f"{cpus}"
        out.append(text(x(cpus), bottom + 18, label, 11, "middle", "dim"))
    for name, colour, values in reversed(lines):  # libslab is on top
        points = " ".join(f"{x(c):.1f},{y(v):.1f}" for c, v in zip(CPUS, values))
        dashes = ";stroke-dasharray:6 4" if "threads" in name else ""
        out.append(f'<polyline class="line" style="stroke:{colour}{dashes}" points="{points}"/>')
    return out


def legend(lines, left, top, columns, width):
    """Names with their colours."""
    out = []
    for i, (name, colour, _) in enumerate(lines):
        x, y = left + i % columns * width, top + i // columns * 16
        out.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" style="fill:{colour}"/>')
        out.append(text(x + 15, y, name, 11))
    return out


def bytes_unit(value):
    """A power of ten of MiB."""
    mib = value / 1e6
    return f"{mib:g} MB" if mib < 1000 else f"{mib / 1000:g} GB"


def chart(inputs):
    """The whole chart."""
    every, few, busy = memory_lines(0), memory_lines(tables.FEW_CPUS), lock_lines(inputs)
    step = PANEL_WIDTH + GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}">', f"<style>{STYLE}</style>",
           f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
           text(LEFT, 30, "libslab on larger machines: what the model says", 17, weight="bold")]
    note = f"{tables.CACHES} caches, {tables.SIZE} bytes, peak of {tables.PEAK} objects a CPU"
    out += panel(LEFT, "Trapped memory, all CPUs use each cache", note, every, bytes_unit, 7, 11)
    out += panel(LEFT + step, "Trapped memory, 4 CPUs use each", note, few, bytes_unit, 6, 9)
    out += panel(LEFT + 2 * step, "Busy locks", "rate × hold; 1: saturated",
                 busy, lambda v: f"{v:g}", -2, 2)
    at = TOP + PANEL_HEIGHT + 44
    out += legend(every, LEFT, at, 4, 195)
    out += legend(busy, LEFT + 2 * step, at, 1, 0)
    return "\n".join(out + ["</svg>", ""])
