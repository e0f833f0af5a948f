# SPDX-License-Identifier: MIT
"""The chart: one panel per case, four sizes in it, a bar per contestant, log scale."""
import math

import report
from svg import COLOURS, STYLE, text

WIDTH = 1240
PANEL_WIDTH, PANEL_HEIGHT = 590, 236
PLOT_LEFT, PLOT_TOP, PLOT_HEIGHT = 52, 34, 156
HEAD_HEIGHT = 104
MARGIN = 24
GROUP_GAP = 18
BAR_MAX = 12

PANELS = ("pair", "all.pair", "in_order.alloc", "in_order.free", "random.free", "all.alloc",
          "all.free", "cold.alloc", "all_to_one.free", "one_to_all.free", "ring.1", "ring.64",
          "lifetimes", "lifetimes.shared", "lifetimes.random", "lifetimes.burst", "threads.64",
          "bulk.16", "memory.live", "memory.idle_64")


def bar(x, y, width, height, name):
    title = f"<title>{name}</title>"
    if COLOURS[name] == "none":
        return (f'<rect x="{x + .6:.1f}" y="{y:.1f}" width="{width - 1.2:.1f}" '
                f'height="{height:.1f}" class="floor">{title}</rect>')
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{COLOURS[name]}">{title}</rect>')


class Scale:
    """A log axis from a round number below all values to one above them."""

    STEPS = (1, 2, 5)

    def __init__(self, values):
        self.low = self.round_number(min(values) * 0.8, down=True)
        self.high = self.round_number(max(values) * 1.1, down=False)

    @classmethod
    def round_number(cls, value, down):
        decade = 10.0 ** math.floor(math.log10(value))
        steps = [step * decade for step in cls.STEPS + (10,)]
        if down:
            return max(step for step in steps if step <= value * (1 + 1e-9))
        return min(step for step in steps if step >= value * (1 - 1e-9))

    def share(self, value):
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self):
        ticks, decade = [], 10.0 ** math.floor(math.log10(self.low))
        while decade <= self.high * 1.001:
            ticks += [step * decade for step in self.STEPS
                      if self.low * 0.999 <= step * decade <= self.high * 1.001]
            decade *= 10
        return ticks if len(ticks) <= 7 else [t for t in ticks if f"{t:e}"[0] == "1"]


def shown_value(case, contestant, size, table):
    """Bars show ns, or MiB. A contestant without bulk calls shows its single ones."""
    value = table.value(contestant, case, size)
    if value is None and case.startswith("bulk."):
        value = table.value(contestant, case.replace("bulk.", "singles."), size)
    if value is None or value <= 0:
        return None
    return value / report.MIB if case.startswith("memory.") else value


def group(table, case, size, x, width, scale, names):
    """The bars of one size, with its label below."""
    out = []
    step = min(width / len(names), BAR_MAX + 2)
    left = x + (width - step * len(names)) / 2
    for i, name in enumerate(names):
        value = shown_value(case, name, size, table)
        if value is None:
            continue
        height = max(scale.share(value) * PLOT_HEIGHT, 1)
        top = PLOT_TOP + PLOT_HEIGHT - height
        out.append(bar(left + i * step, top, step - 2, height, name))
        if name == "slab":
            label = f"{value:.1f}" if value < 100 else f"{value:.0f}"
            out.append(text(left + i * step + step - 2, top - 4, label, 10, "end"))
    below = PLOT_TOP + PLOT_HEIGHT
    out.append(text(x + width / 2, below + 16, f"{size} bytes", 12, "middle"))
    ratio = table.ratio("slab", case, size)
    if ratio is not None:
        out.append(text(x + width / 2, below + 32, f"× {ratio:.2f}", 12, "middle", "dim"))
    return out


def panel(table, case, sizes, names):
    values = [shown_value(case, name, size, table) for name in names for size in sizes]
    scale = Scale([value for value in values if value is not None])
    unit = "MiB" if case.startswith("memory.") else "ns"
    title = report.TITLES.get(case, "16 objects by one bulk call, per object")
    out = [f'<rect width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" rx="6" class="panel"/>',
           text(14, 21, case, 14, weight="bold"),
           text(20 + 9.2 * len(case), 21, f"{title}, {unit}", 12, css="dim")]
    for tick in scale.ticks():
        y = PLOT_TOP + PLOT_HEIGHT * (1 - scale.share(tick))
        out.append(f'<line x1="{PLOT_LEFT}" x2="{PANEL_WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}" '
                   'class="grid"/>')
        out.append(text(PLOT_LEFT - 6, y + 4, f"{tick:g}", 11, "end", "dim"))
    width = (PANEL_WIDTH - 12 - PLOT_LEFT) / len(sizes)
    for i, size in enumerate(sizes):
        x = PLOT_LEFT + i * width + GROUP_GAP / 2
        out += group(table, case, size, x, width - GROUP_GAP, scale, names)
    return out


def legend(names):
    out, x = [], float(MARGIN)
    for name in names:
        out.append(f'<g transform="translate({x:.1f},66)">{bar(0, 0, 12, 12, name)}'
                   f"{text(18, 11, name)}</g>")
        x += 44 + 7.4 * len(name)
    return out


def svg(table, machine):
    """The whole picture. Sizes are the goal sizes, or the first four that ran."""
    sizes = [size for size in report.GOAL_SIZES if size in table.sizes] or table.sizes[:4]
    names = [name for name in COLOURS if name in table.contestants]
    cases = [case for case in PANELS if case in table.cases and any(
        shown_value(case, name, size, table) for name in names for size in sizes)]
    rows = (len(cases) + 1) // 2
    height = HEAD_HEIGHT + rows * (PANEL_HEIGHT + 12) + MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}">', f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{height}" class="page"/>',
           text(MARGIN, 30, "Typed object caches against other allocators", 20, weight="bold"),
           text(MARGIN, 50, machine + ". Shorter is better; every panel has its own log scale.",
                12, css="dim")]
    out += legend(names)
    out.append(text(MARGIN, 95, "× under a size: slab against the best of " +
                    ", ".join(report.RIVALS) + " in that panel. dpdk is a preallocated, inlined "
                    "pool: the floor.", 12, css="dim"))
    for i, case in enumerate(cases):
        x = MARGIN + i % 2 * (PANEL_WIDTH + 12)
        y = HEAD_HEIGHT + i // 2 * (PANEL_HEIGHT + 12)
        out.append(f'<g transform="translate({x},{y})">')
        out += panel(table, case, sizes, names)
        out.append("</g>")
    return "\n".join(out + ["</svg>"]) + "\n"
