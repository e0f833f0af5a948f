# SPDX-License-Identifier: MIT
"""The chart: what a pblock's life costs, and what it takes, for each workload."""
import statistics

from svg import STYLE, text

WIDTH, MARGIN, HEAD = 1000, 24, 76
PANEL_WIDTH, PANEL_HEIGHT, GAP = 468, 300, 16
LEFT, TOP, HEIGHT = 20, 56, 190
COLOURS = {"v1": "#8a939c", "split389": "#3b82c4", "v3": "#e4472b"}
NAMES = {"v1": "flat, calloc", "split389": "389-ds's split, calloc", "v3": "libslab_dirsrv"}
PANELS = (("ns_median", "ns for a life", "{:.0f}"), ("bytes", "bytes at its end", "{:.0f}"))


def value_of(runs, workload, pblock, key):
    rows = [row for run in runs for row in run["lives"]
            if (row["workload"], row["pblock"]) == (workload, pblock)]
    return statistics.median(row[key] for row in rows)


def panel(runs, x, key, title, form):
    """Bars, each workload with a scale of its own: they differ by forty times."""
    workloads = list(dict.fromkeys(row["workload"] for row in runs[0]["lives"]))
    step = (PANEL_WIDTH - 2 * LEFT) / len(workloads)
    width = (step - 18) / len(COLOURS)
    out = [f'<rect x="{x}" y="{HEAD}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" rx="6" '
           'class="panel"/>', text(x + LEFT, HEAD + 28, title, 14, weight="bold")]
    for i, workload in enumerate(workloads):
        values = {name: value_of(runs, workload, name, key) for name in COLOURS}
        for j, (name, value) in enumerate(values.items()):
            height = HEIGHT * value / max(values.values())
            left, top = x + LEFT + i * step + j * width, HEAD + TOP + HEIGHT - height
            out.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{width - 3:.1f}" '
                       f'height="{height:.1f}" fill="{COLOURS[name]}"/>')
            out.append(text(left + width / 2 - 1.5, top - 5, form.format(value), 11, "middle"))
        out.append(text(x + LEFT + i * step + (step - 18) / 2, HEAD + TOP + HEIGHT + 20, workload,
                        11, "middle"))
    return out


def svg(runs, machine):
    height = HEAD + PANEL_HEIGHT + MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}">', f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{height}" class="page"/>',
           text(MARGIN, 30, "Lives of pblocks", 20, weight="bold"),
           text(MARGIN, 50, machine + ". Each workload has its own scale.", 12, css="dim")]
    x = MARGIN
    for name, colour in COLOURS.items():
        out.append(f'<rect x="{x}" y="58" width="11" height="11" fill="{colour}"/>')
        out.append(text(x + 16, 68, NAMES[name], 12))
        x += 40 + 7 * len(NAMES[name])
    for i, (key, title, form) in enumerate(PANELS):
        out += panel(runs, MARGIN + i * (PANEL_WIDTH + GAP), key, title, form)
    return "\n".join(out + ["</svg>"]) + "\n"
