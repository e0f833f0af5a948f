# SPDX-License-Identifier: MIT
"""What the benchmarks' charts share: colours of the contestants, theme, text.

Plain SVG without scripts, so that it shows wherever Markdown does. Colours follow
the reader's light or dark theme; without one it is light.
"""
COLOURS = {"slab": "#e4472b", "slab-lto": "#a3203f", "slab-cmpxchg16b": "#f0916f",
           "slab-mutex": "#f3bfa6", "slab-movable": "#d6247e", "glibc": "#8a939c",
           "jemalloc": "#3b82c4", "tcmalloc": "#2fa084", "mimalloc": "#8f6fc9",
           "jemalloc5": "#1f5a94", "mimalloc2": "#b39ddb", "mimalloc3": "#5e35b1",
           "snmalloc": "#c2577f", "pool-1-1": "#7a6a3a", "pool-1-2": "#9a8a4e",
           "pool-1-3": "#bfae72", "pool-2": "#4d5b2f", "gslice": "#b98a2f", "dpdk": "none", "slob": "#8a939c", "SLAB": "#3b82c4",
           "sheaves": "#2fa084"}

STYLE = """
text { font-family: "DejaVu Sans", system-ui, sans-serif; fill: #20262c; }
.page { fill: #ffffff; }
.panel { fill: #f5f7f9; }
.grid { stroke: #d4dae0; stroke-width: 1; }
.dim { fill: #5a6570; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.floor { fill: none; stroke: #20262c; stroke-width: 1.2; }
@media (prefers-color-scheme: dark) {
text { fill: #e6eaee; }
.page { fill: #14181c; }
.panel { fill: #1d2329; }
.grid { stroke: #38424c; }
.dim { fill: #a4afba; }
.floor { stroke: #e6eaee; }
}
"""


def text(x, y, content, size=12, anchor="start", css="", weight="normal", colour=None):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    style = f' style="fill:{colour}"' if colour else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}" class="{css}"{style}>{content}</text>')
