# SPDX-License-Identifier: MIT
"""The chart: resident memory over time, a line per contestant, its name at its end.
Lines are of the last round.
"""
import report
import svg as shared
from panel import PANEL_HEIGHT
from panel import Panel as PlainPanel
from svg import STYLE, text

WIDTH = 1240
MARGIN = 24
HEAD_HEIGHT = 70
GAP = 12
IDLE_S = 15
MOST_POINTS = 600                           # of a line
COLOURS = shared.COLOURS | {"slabs": "#e4472b", "owned by CPUs": "#b98a2f",
                            "objects in use": "#3b82c4"}


class Panel(PlainPanel):
    colours = COLOURS


def last(found, case, name):
    return found.runs[case, name][-1]


def stretched(run, marks):
    """[(x, bytes)]: from mark i to the next one, x goes from i to i + 1."""
    line, i = [], 0
    ends = [run.marks[mark][0] for mark in marks]
    for t, value in sorted(run.samples):
        while i + 2 < len(ends) and t > ends[i + 1]:
            i += 1
        if ends[0] <= t <= ends[-1]:
            line.append((i + (t - ends[i]) / (ends[i + 1] - ends[i]), value))
    return line


def idle_panel(found, what, width):
    """How long allocations and frees take is nothing here: a step for each; then seconds."""
    case = f"peak.{what}"
    lines = {}
    for name in found.names(case):
        run = last(found, case, name)
        zero = run.marks["freed"][0]
        lines[name] = [(2 * x - 4, value)
                       for x, value in stretched(run, ("start", "peak", "freed"))]
        lines[name] += [(t - zero, value) for t, value in sorted(run.samples)
                        if 0 < t - zero <= IDLE_S]
    ticks = [(-4, "start"), (-2, "peak"), (0, "freed")]
    ticks += [(s, f"{s} s") for s in range(3, IDLE_S + 1, 3)]
    return Panel(width, case, report.PEAK_TITLES[what] + ": 90 % at random, then idle; MiB", lines,
                 ticks)


def churn_panel(found, width):
    """Time is the hour of the day, whatever it took."""
    marks = ["start"] + [f"hour {h}" for h in range(1, report.HOURS + 1)]
    lines = {name: stretched(last(found, "churn", name), marks) for name in found.names("churn")}
    ticks = [(h, f"{h}:00") for h in range(0, report.HOURS + 1, 3)]
    note = ("a directory server's day: add, delete, modify, search; every hour begins with a "
            "search of everything, which evicts the cache; MiB")
    return Panel(width, "churn", note, lines, ticks)


def thinned(line):
    return line[::len(line) // MOST_POINTS + 1]


def directory_ticks(found):
    names = [(0, "0")] + list(zip(next(iter(found.loads.values()))[0].points,
                                  report.load_points(found)))
    return names[::2]


def directory_panels(found, width):
    """Resident memory of all; beside it what libslab's slabs are used for."""
    ticks = directory_ticks(found)
    lines = {name: thinned(loads[-1].samples) for name, loads in found.loads.items()}
    row = [Panel(width, "directory", "the example directory under its own load; resident, MiB", lines,
                 ticks)]
    if found.loads.get("slab") and found.loads["slab"][-1].slabs.get("slabs"):
        lines = found.loads["slab"][-1].slabs
        row.append(Panel(width, "directory: slabs of libslab", "the same load; slabs, those that "
                         "CPUs own, and the objects in use, MiB", lines, ticks))
    return row


def panels(found):
    """Rows of panels."""
    rows, half = [], (WIDTH - 2 * MARGIN - GAP) / 2
    peaks = found.peak_cases()
    for i in range(0, len(peaks), 2):
        rows.append([idle_panel(found, what, half) for what in peaks[i:i + 2]])
    if found.days:
        rows.append([churn_panel(found, WIDTH - 2 * MARGIN)])
    if found.loads:
        rows.append(directory_panels(found, half))
    return rows


def svg(found, machine):
    """The whole picture."""
    rows = panels(found)
    height = HEAD_HEIGHT + len(rows) * (PANEL_HEIGHT + GAP) + MARGIN - GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}">', f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{height}" class="page"/>',
           text(MARGIN, 32, "Resident memory over time", 20, weight="bold"),
           text(MARGIN, 53, machine + ". Less is better.", 12, css="dim")]
    for r, row in enumerate(rows):
        x, y = float(MARGIN), HEAD_HEIGHT + r * (PANEL_HEIGHT + GAP)
        for panel in row:
            out.append(f'<g transform="translate({x:.1f},{y})">')
            out += panel.svg()
            out.append("</g>")
            x += panel.width + GAP
    return "\n".join(out + ["</svg>"]) + "\n"
