# SPDX-License-Identifier: MIT
"""The chart: for each server, anonymous memory over its operations, of the last round; beside it
operations a second and CPU time of each contestant.
"""
import report
from panel import PANEL_HEIGHT, Panel
from svg import COLOURS, STYLE, text

WIDTH = 1240
MARGIN = 24
HEAD_HEIGHT = 70
GAP = 12
CURVE_WIDTH = 780
BAR_LEFT, BAR_TOP, BAR_STEP, BARS_HEIGHT = 110, 46, 20, 90
BARS = ("time", "cpu")
TICKS = [(share / 100, f"{share} %") for share in (0, 20, 40, 60, 80, 100)]


def curve_panel(found, server):
    last = {run.contestant.name: run.curve for run in found.runs
            if run.server.name == server and run.curve}
    lines = {name: last[name] for name in found.contestants if name in last}
    note = "anonymous memory over the operations of the last round, MiB"
    return Panel(CURVE_WIDTH, server, note, lines, TICKS) if lines else None


def bars(found, server, metric, x, width):
    """A bar per contestant; of op/s longer is better."""
    values = {name: found.median(server, name, metric) for name in found.contestants}
    values = {name: 1 / value if metric == "time" else value
              for name, value in values.items() if value}
    out = [text(x + 14, 37, report.METRICS[metric].title, 11, css="dim")]
    step = min(BAR_STEP, BARS_HEIGHT / max(len(values), 1))
    for i, (name, value) in enumerate(values.items()):
        y = BAR_TOP + i * step
        length = (width - BAR_LEFT - 60) * value / max(values.values())
        shown = report.shown(metric, found.median(server, name, metric))
        out.append(text(x + BAR_LEFT - 8, y + step * 0.6, name, 10, "end"))
        out.append(f'<rect x="{x + BAR_LEFT:.1f}" y="{y:.1f}" width="{length:.1f}" height="{step * 0.7:.1f}" '
                   f'fill="{COLOURS[name]}"><title>{name}: {shown}</title></rect>')
        out.append(text(x + BAR_LEFT + length + 6, y + step * 0.6, shown, 10))
    return out


def bars_panel(found, server, width):
    out = [f'<rect width="{width}" height="{PANEL_HEIGHT}" rx="6" class="panel"/>',
           text(14, 21, f"{server}: speed", 14, weight="bold")]
    for i, metric in enumerate(BARS):
        out.append(f'<g transform="translate(0,{i * (PANEL_HEIGHT - 30) / len(BARS):.1f})">')
        out += bars(found, server, metric, 0, width)
        out.append("</g>")
    return out


def svg(found, machine):
    """The whole picture: a row per server."""
    width = WIDTH - 2 * MARGIN - GAP - CURVE_WIDTH
    height = HEAD_HEIGHT + len(found.servers) * (PANEL_HEIGHT + GAP) + MARGIN - GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}">', f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{height}" class="page"/>',
           text(MARGIN, 32, found.mode.title, 20, weight="bold"),
           text(MARGIN, 53, machine, 12, css="dim")]
    for i, server in enumerate(found.servers):
        y = HEAD_HEIGHT + i * (PANEL_HEIGHT + GAP)
        curve = curve_panel(found, server)
        if curve:
            out += [f'<g transform="translate({MARGIN},{y})">', *curve.svg(), "</g>"]
        out.append(f'<g transform="translate({MARGIN + CURVE_WIDTH + GAP},{y})">')
        out += bars_panel(found, server, width) + ["</g>"]
    return "\n".join(out + ["</svg>"]) + "\n"
