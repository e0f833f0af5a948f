# SPDX-License-Identifier: MIT
"""The chart: for each case a bar per server, operations or connections a second; then memory over
time with each allocator, of the last round.
"""
import cases
import report
import svg
from panel import PANEL_HEIGHT, Panel
from svg import STYLE, text

WIDTH, MARGIN, GAP = 1000, 24, 12
HEAD_HEIGHT = 70
BAR_LEFT, BAR_TOP, BAR_STEP = 120, 48, 22
TICKS = 7  # of the seconds
COLOURS = {"inline": "#8a939c", "handoff": "#3b82c4", "accept-thread": "#2fa084",
           "multi": "#e4472b", "slapd": "#8f6fc9", "ns-slapd": "#b98a2f"} | svg.COLOURS


def bars(found, case, width):
    settings = found.settings
    names = found.names[cases.CASES[case].compares]
    values = {name: found.median(name, case, "rate") for name in names}
    values = {name: value for name, value in values.items() if value}
    height = BAR_TOP + BAR_STEP * max(len(values), 1) + 14
    out = [f'<rect width="{width}" height="{height}" rx="6" class="panel"/>',
           text(14, 21, cases.title(case, settings.connections, settings.idle), 14, weight="bold"),
           text(14, 37, "per second, median and least; longer is better", 11, css="dim")]
    for i, (name, value) in enumerate(values.items()):
        y = BAR_TOP + i * BAR_STEP
        length = (width - BAR_LEFT - 110) * value / max(values.values())
        out.append(text(BAR_LEFT - 8, y + 12, name, 11, "end"))
        out.append(f'<rect x="{BAR_LEFT}" y="{y}" width="{length:.1f}" height="{BAR_STEP - 7}" '
                   f'fill="{COLOURS[name]}"><title>{name}: {value:,.0f}</title></rect>')
        out.append(text(BAR_LEFT + length + 6, y + 12, report.rate_cell(found, name, case), 11))
    return height, out


def memory(found, width):
    """Under load, and when the server is idle; None: the mix was not measured."""
    last = {run.server.name: run.curve for run in found.runs if run.curve}
    lines = {name: last[name] for name in found.names[cases.ALLOCATORS] if name in last}
    if not lines:
        return None
    end = max(line[-1][0] for line in lines.values())
    ticks = [(end * i / TICKS, f"{end * i / TICKS:.0f} s") for i in range(TICKS + 1)]
    loaded = found.settings.warm_up + found.settings.seconds * cases.CASES["mix"].longer
    note = f"anonymous memory of the last round, MiB: {loaded:.0f} s of load, then idle"
    return PANEL_HEIGHT, Panel(width, "the mix: memory", note, lines, ticks).svg()


def picture(found, machine):
    """The whole SVG: a panel below another."""
    width = WIDTH - 2 * MARGIN
    panels = [bars(found, case, width) for case in found.settings.cases if case != "share"]
    panels += [panel for panel in [memory(found, width)] if panel]
    y, body = HEAD_HEIGHT, []
    for height, out in panels:
        body += [f'<g transform="translate({MARGIN},{y})">', *out, "</g>"]
        y += height + GAP
    height = y - GAP + MARGIN
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}">', f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height}" class="page"/>',
            text(MARGIN, 32, "ldapd: four forms of a listener, two other servers, and allocators", 20,
                 weight="bold"),
            text(MARGIN, 53, machine, 12, css="dim")]
    return "\n".join(head + body + ["</svg>"]) + "\n"
