# SPDX-License-Identifier: MIT
"""The picture of the comparison: a panel of bars for each row. Plain SVG without scripts, so that it
shows wherever Markdown does. Colours follow the reader's light or dark theme; without one it is light.
"""
from compare import ROWS

COLOURS = {"slab": "#e4472b", "glibc": "#8a939c", "jemalloc": "#3b82c4", "tcmalloc": "#2fa084",
           "mimalloc": "#8f6fc9"}

STYLE = """
text { font-family: "DejaVu Sans", system-ui, sans-serif; fill: #20262c; }
.page { fill: #ffffff; }
.panel { fill: #f5f7f9; }
.dim { fill: #5a6570; }
@media (prefers-color-scheme: dark) {
text { fill: #e6eaee; }
.page { fill: #14181c; }
.panel { fill: #1d2329; }
.dim { fill: #a4afba; }
}
"""

WIDTH, MARGIN, GAP = 860, 24, 16
TITLE, HEADING, BAR, FOOT = 64, 34, 22, 12
NAME, VALUE = 92, 64
PANEL = (WIDTH - 2 * MARGIN - GAP) // 2


def text(x, y, content, size=12, anchor="start", css="", weight="normal", colour=None):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    style = f' style="fill:{colour}"' if colour else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}" class="{css}"{style}>{content}</text>')


def panel(x, y, title, bars, decimals):
    """Horizontal bars from zero: (name, value, colour)."""
    height = HEADING + BAR * len(bars) + FOOT
    scale = (PANEL - NAME - VALUE) / (max(value for _, value, _ in bars) or 1)
    yield f'<rect class="panel" x="{x}" y="{y}" width="{PANEL}" height="{height}" rx="4"/>'
    yield text(x + 12, y + 21, title, size=12, weight="bold")
    for i, (name, value, colour) in enumerate(bars):
        top = y + HEADING + BAR * i
        yield text(x + NAME - 6, top + 13, name, size=11, anchor="end")
        yield (f'<rect x="{x + NAME}" y="{top + 2}" width="{max(value * scale, 1):.1f}" '
               f'height="{BAR - 7}" rx="2" style="fill:{colour}"/>')
        yield text(x + NAME + value * scale + 6, top + 13, f"{value:,.{decimals}f}", size=11,
                   css="dim")


def panels(comparison):
    """(title, bars, decimals) for each."""
    for row in ROWS:
        better = "more is better" if row[3] else "less is better"
        yield (f"{comparison.label(row)} ({better})",
               [(side.name, side.median(row[0]),
                 COLOURS["slab" if side.name == "libslab" else side.name])
                for side in comparison.sides], row[2])


def write(path, comparison, note):
    out, bottom = [], TITLE
    todo = list(panels(comparison))
    for i in range(0, len(todo), 2):
        for column, (title, bars, decimals) in enumerate(todo[i:i + 2]):
            out += panel(MARGIN + column * (PANEL + GAP), bottom, title, bars, decimals)
        bottom += max(HEADING + BAR * len(bars) + FOOT for _, bars, _ in todo[i:i + 2]) + GAP
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom}" '
            f'width="{WIDTH}" height="{bottom}">\n<style>{STYLE}</style>\n'
            f'<rect class="page" width="{WIDTH}" height="{bottom}"/>')
    title = text(MARGIN, 30, "ldapd on libslab and on malloc", size=17, weight="bold")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([head, title, text(MARGIN, 50, note, size=11, css="dim"), *out,
                              "</svg>\n"]))
