# SPDX-License-Identifier: MIT
"""The chart: a row per case, a dot per contestant at its ratio to the best rival, log scale."""
import math

import report
from svg import COLOURS, STYLE, text

WIDTH = 1240
MARGIN = 24
HEAD_HEIGHT = 104
ROW_HEIGHT = 19
LEFT, TOP, BOTTOM = 150, 34, 30  # of the plot in its panel
GAP = 12
LOW, HIGH = 0.25, 16.0           # ratios beyond stand at the edge
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)
PANELS = (("time", "time"), ("peak", "peak memory"), ("resident", "memory when all is freed"),
          ("idle", "memory after the idle time"), ("faults", "page faults"),
          ("calls", "system calls"))


def x_of(ratio, width):
    ratio = min(max(ratio, LOW), HIGH)
    share = math.log(ratio / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (width - LEFT - 24)


def grid(width, height):
    out = []
    for tick in TICKS:
        x = x_of(tick, width)
        css = "floor" if tick == 1 else "grid"
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - BOTTOM}" class="{css}"/>')
        out.append(text(x, height - BOTTOM + 16, f"{tick:g}", 11, "middle", "dim"))
    return out


def dots(found, case, metric, y, width):
    """libslab last, above the others."""
    out = []
    for name in sorted(found.contestants, key=lambda name: name == "slab"):
        ratio = found.ratio(name, case, metric)
        if ratio is None:
            continue
        radius = 5.5 if name == "slab" else 4
        value = report.shown(metric, found.median(name, case, metric))
        out.append(f'<circle cx="{x_of(ratio, width):.1f}" cy="{y:.1f}" r="{radius}" '
                   f'fill="{COLOURS[name]}"><title>{name}: {value}, × {ratio:.2f}</title></circle>')
    return out


def panel(found, metric, title, width):
    cases = [case for case in found.cases if found.best(case, metric)[0] is not None]
    height = TOP + len(cases) * ROW_HEIGHT + BOTTOM
    out = [f'<rect width="{width}" height="{height}" rx="6" class="panel"/>',
           text(14, 21, title, 14, weight="bold")] + grid(width, height)
    for i, case in enumerate(cases):
        y = TOP + (i + 0.5) * ROW_HEIGHT
        out.append(text(LEFT - 10, y + 4, case, 11, "end"))
        out += dots(found, case, metric, y, width)
    return (out, height) if cases else (None, 0)


def legend(names):
    out, x = [], float(MARGIN)
    for name in names:
        out.append(f'<circle cx="{x + 6:.1f}" cy="72" r="5" fill="{COLOURS[name]}"/>')
        out.append(text(x + 16, 76, name))
        x += 40 + 7.4 * len(name)
    return out


def svg(found, machine):
    """The whole picture: panels in two columns, each put where there is more room."""
    width, body = (WIDTH - 2 * MARGIN - GAP) / 2, []
    bottoms = [float(HEAD_HEIGHT)] * 2
    for metric, title in PANELS:
        out, height = panel(found, metric, title, width)
        if out is None:
            continue
        column = bottoms.index(min(bottoms))
        x = MARGIN + column * (width + GAP)
        body += [f'<g transform="translate({x:.1f},{bottoms[column]:.1f})">', *out, "</g>"]
        bottoms[column] += height + GAP
    height = max(bottoms) + MARGIN - GAP
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
            f'viewBox="0 0 {WIDTH} {height:.0f}">', f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height:.0f}" class="page"/>',
            text(MARGIN, 32, "libslab in the place of malloc", 20, weight="bold"),
            text(MARGIN, 53, machine + ". × of the best rival, log scale; further left is better.",
                 12, css="dim")]
    return "\n".join(head + legend(found.contestants) + body + ["</svg>"]) + "\n"
