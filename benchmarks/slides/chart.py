# SPDX-License-Identifier: MIT
"""The chart: a row per case and size, a dot per design at its ratio to the best one besides libslab."""
import math

import report
from svg import COLOURS, STYLE, text

WIDTH = 900
LEFT, RIGHT, TOP, BOTTOM = 220, 30, 100, 40
ROW_HEIGHT = 18
LOW, HIGH = 0.125, 64.0  # ratios beyond stand at the edge
TICKS = (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)


def x_of(ratio):
    ratio = min(max(ratio, LOW), HIGH)
    return LEFT + math.log(ratio / LOW) / math.log(HIGH / LOW) * (WIDTH - LEFT - RIGHT)


def rows_of(found):
    """(row, size) of what has a ratio."""
    rows = report.OBJECT_ROWS + list(report.MODES) + ["memory.resident", "hackbench", "block"]
    return [(row, size) for row in rows for size in found.sizes(row)
            if found.ratio(report.OURS, row, size) is not None]


def grid(height):
    out = []
    for tick in TICKS:
        x = x_of(tick)
        css = "floor" if tick == 1 else "grid"
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - BOTTOM}" class="{css}"/>')
        out.append(text(x, height - BOTTOM + 18, f"{tick:g}", 11, "middle", "dim"))
    return out


def legend(names):
    out, x = [], 24.0
    for name in names:
        out.append(f'<circle cx="{x:.1f}" cy="74" r="5" fill="{COLOURS[name]}"/>')
        out.append(text(x + 11, 78, "libslab" if name == report.OURS else name))
        x += 40 + 8 * len(name)
    return out


def svg(found, machine):
    rows = rows_of(found)
    height = TOP + len(rows) * ROW_HEIGHT + BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}">', f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{height}" class="page"/>',
           text(24, 32, "The slides' tables: libslab, SLAB, sheaves, SLOB", 20, weight="bold"),
           text(24, 53, machine + ". × of the best other design; left is better.", 11, css="dim")]
    out += legend(found.contestants) + grid(height)
    for i, (row, size) in enumerate(rows):
        y = TOP + (i + 0.5) * ROW_HEIGHT
        out.append(text(LEFT - 10, y + 4, f"{row} {report.size_shown(size)}", 11, "end"))
        for name in sorted(found.contestants, key=lambda name: name == report.OURS):
            ratio = found.ratio(name, row, size)
            if ratio is not None:
                out.append(f'<circle cx="{x_of(ratio):.1f}" cy="{y:.1f}" r="{5.5 if name == report.OURS else 4}" '
                           f'fill="{COLOURS[name]}"><title>{name}: × {ratio:.2f}</title></circle>')
    return "\n".join(out + ["</svg>"]) + "\n"
