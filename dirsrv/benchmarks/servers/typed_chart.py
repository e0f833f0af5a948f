# SPDX-License-Identifier: MIT
"""The chart of --typed: for each server and figure a pair of bars per allocator, without typed
caches and with them.
"""
import report
from svg import COLOURS, STYLE, text

WIDTH = 1240
MARGIN = 24
HEAD_HEIGHT = 70
GAP = 12
PANELS = ("time", "cpu", "share", "end", "idle")
PANEL_WIDTH = (WIDTH - 2 * MARGIN - (len(PANELS) - 1) * GAP) / len(PANELS)
PANEL_HEIGHT = 240
BAR_LEFT, BAR_TOP, BAR_HEIGHT, BAR_STEP, PAIR_STEP = 66, 50, 13, 15, 37
VALUE_WIDTH = 52
PALE = 0.45  # opacity of a bar without typed caches


def allocators(found):
    return list(dict.fromkeys(name.split()[1] for name in found.contestants))


def bar(found, server, metric, name, longest):
    """Its rectangle and its figure, from (0, 0)."""
    value = found.median(server, name, metric)
    if value is None:
        return []
    value = 1 / value if metric == "time" else value
    length = (PANEL_WIDTH - BAR_LEFT - VALUE_WIDTH) * value / longest
    kind, allocator = name.split()
    shown = report.shown(metric, found.median(server, name, metric))
    return [f'<rect x="{BAR_LEFT}" width="{length:.1f}" height="{BAR_HEIGHT}" fill="{COLOURS[allocator]}" '
            f'opacity="{PALE if kind == "stock" else 1}"><title>{name}: {shown}</title></rect>',
            text(BAR_LEFT + length + 5, BAR_HEIGHT - 3, shown, 10)]


def panel(found, server, metric):
    values = [found.median(server, name, metric) for name in found.contestants]
    values = [1 / value if metric == "time" else value for value in values if value]
    out = [f'<rect width="{PANEL_WIDTH:.1f}" height="{PANEL_HEIGHT}" rx="6" class="panel"/>',
           text(14, 21, server, 14, weight="bold"),
           text(14, 38, report.METRICS[metric].title, 11, css="dim")]
    for i, allocator in enumerate(allocators(found) if values else []):
        y = BAR_TOP + i * PAIR_STEP
        out.append(text(BAR_LEFT - 6, y + BAR_STEP + 2, allocator, 10, "end"))
        for j, kind in enumerate(("stock", "typed")):
            out.append(f'<g transform="translate(0,{y + j * BAR_STEP})">')
            out += bar(found, server, metric, f"{kind} {allocator}", max(values)) + ["</g>"]
    return out


def svg(found, machine):
    """The whole picture: a row per server."""
    height = HEAD_HEIGHT + len(found.servers) * (PANEL_HEIGHT + GAP) + MARGIN - GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}">', f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{height}" class="page"/>',
           text(MARGIN, 32, f"{found.mode.title} (pale), on each allocator", 20, weight="bold"),
           text(MARGIN, 53, machine, 12, css="dim")]
    for row, server in enumerate(found.servers):
        for column, metric in enumerate(metric for metric in PANELS if metric in found.metrics):
            x = MARGIN + column * (PANEL_WIDTH + GAP)
            y = HEAD_HEIGHT + row * (PANEL_HEIGHT + GAP)
            out += [f'<g transform="translate({x:.1f},{y})">', *panel(found, server, metric), "</g>"]
    return "\n".join(out + ["</svg>"]) + "\n"
