# SPDX-License-Identifier: MIT
"""Text and colours of the demo's picture. Plain SVG without scripts, so that it shows wherever Markdown
does. Colours follow the reader's light or dark theme; without one it is light.
"""
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


def text(x, y, content, size=12, anchor="start", css="", weight="normal", colour=None):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    style = f' style="fill:{colour}"' if colour else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}" class="{css}"{style}>{content}</text>')
