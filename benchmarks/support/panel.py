# SPDX-License-Identifier: MIT
"""A panel of bytes over time: a line per contestant, its name and last value at its end."""
import math

from svg import COLOURS, text

MIB = 1 << 20
PANEL_HEIGHT = 300
LEFT, RIGHT, TOP, BOTTOM = 56, 136, 58, 34  # of the plot in its panel
LABEL_STEP = 14                             # labels stand at least so far apart


def round_step(most, ticks=5):
    """A round distance between ticks, so that about `ticks` of them reach `most`."""
    rough = most / ticks
    decade = 10.0 ** math.floor(math.log10(rough))
    return next(step * decade for step in (1, 2, 2.5, 5, 10) if step * decade >= rough)


def spread_labels(wanted, low, high):
    """Places near the wanted ones, in the same order, LABEL_STEP apart."""
    places = []
    for y in wanted:
        places.append(max(y, places[-1] + LABEL_STEP) if places else max(y, low))
    below = high
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], below)
        below = places[i] - LABEL_STEP
    return places


class Panel:
    """One plot: lines = {name: [(x, bytes)]}."""

    colours = COLOURS

    def __init__(self, width, title, note, lines, x_ticks):
        self.width, self.title, self.note = width, title, note
        self.lines, self.x_ticks = lines, x_ticks
        self.low, self.high = x_ticks[0][0], x_ticks[-1][0]
        most = max(value for line in lines.values() for _, value in line) / MIB
        self.step = round_step(most)
        self.top = math.ceil(most / self.step) * self.step

    def x(self, value):
        share = (value - self.low) / (self.high - self.low)
        return LEFT + share * (self.width - LEFT - RIGHT)

    def y(self, value):
        height = PANEL_HEIGHT - TOP - BOTTOM
        return TOP + height * (1 - value / MIB / self.top)

    def grid(self):
        out, tick = [], 0.0
        while tick <= self.top * 1.001:
            y = self.y(tick * MIB)
            out.append(f'<line x1="{LEFT}" x2="{self.width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
                       'class="grid"/>')
            out.append(text(LEFT - 6, y + 4, f"{tick:g}", 11, "end", "dim"))
            tick += self.step
        for place, label in self.x_ticks:
            out.append(text(self.x(place), PANEL_HEIGHT - BOTTOM + 17, label, 11, "middle", "dim"))
        return out

    def line(self, name):
        points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in self.lines[name])
        return (f'<polyline points="{points}" class="line" stroke="{self.colours[name]}">'
                f"<title>{name}</title></polyline>")

    def labels(self):
        """Names and last values, in their lines' colours, beside the lines' ends."""
        ends = sorted((self.y(line[-1][1]), name) for name, line in self.lines.items())
        places = spread_labels([y for y, _ in ends], TOP, PANEL_HEIGHT - BOTTOM)
        out, x = [], self.width - RIGHT
        for (y, name), place in zip(ends, places):
            out.append(f'<line x1="{x}" x2="{x + 10}" y1="{y:.1f}" y2="{place:.1f}" '
                       f'stroke="{self.colours[name]}"/>')
            mib = self.lines[name][-1][1] / MIB
            out.append(text(x + 13, place + 4, f"{name} {mib:.0f}", colour=self.colours[name]))
        return out

    def svg(self):
        out = [f'<rect width="{self.width}" height="{PANEL_HEIGHT}" rx="6" class="panel"/>',
               text(14, 21, self.title, 14, weight="bold"), text(14, 37, self.note, 11, css="dim")]
        return out + self.grid() + [self.line(name) for name in self.lines] + self.labels()
