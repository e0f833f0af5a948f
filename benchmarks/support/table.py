# SPDX-License-Identifier: MIT
"""From figures to medians, ratios to the best rival of a row, and the goals they are held against."""
import collections
import math
import statistics

import runner

LEAST = "_min"
TINY = 1e-9
LEVEL = 1.05  # two figures are level up to this ratio

Row = collections.namedtuple("Row", "case size metric")


def is_rate(metric):
    return metric.endswith("rate")


class Table:
    """rows: (round, contestant, case, size, metric, value)"""

    def __init__(self, rows, description, contestants):
        self.description, self.contestants = description, list(contestants)
        self.curves = getattr(description, "CURVES", ())
        rows = getattr(description, "keep", lambda rows: rows)(rows)
        values = collections.defaultdict(list)
        for _, contestant, case, size, metric, value in rows:
            values[contestant, Row(case, size, metric)].append(value)
        published = getattr(description, "PUBLISHED", ())
        measured = {row for _, row in values}
        for contestant, case, size, metric, value in published:
            if Row(case, size, metric) not in measured:
                continue
            values[contestant, Row(case, size, metric)] = [value]
            if contestant not in self.contestants:
                self.contestants.append(contestant)
        self.values = {key: statistics.median(found) for key, found in values.items()}
        self.least = {key: self.lowest(values, *key) for key in values}
        self.curve = {key: value for key, value in self.values.items() if key[1].metric in self.curves}
        rivals, named = getattr(description, "RIVALS", runner.RIVALS), getattr(description, "NAMED", ())
        self.rivals = [name for name in self.contestants if name in rivals] or [
            name for name in self.contestants if name in named]
        self.measured = [row for row in self.rows_of(values)]

    @staticmethod
    def lowest(values, contestant, row):
        """The best of all: of its laps, where the program says which that was."""
        found = values.get((contestant, row._replace(metric=row.metric + LEAST))) or values[contestant, row]
        return max(found) if is_rate(row.metric) else min(found)

    def rows_of(self, values):
        """Rows in the order of the description."""
        cases, metrics = list(self.description.CASES), list(self.description.METRICS)

        def place(row):
            return (cases.index(row.case) if row.case in cases else len(cases), row.case,
                    metrics.index(row.metric), row.size)

        shown = {row for contestant, row in values
                 if row.metric in metrics and row.metric not in self.curves}
        return sorted(shown, key=place)

    def best(self, row, table=None):
        """(value, name) of the rival that is best in a row; per cent are no amounts to divide."""
        table = self.values if table is None else table
        if self.description.METRICS.get(row.metric) == "%":
            return None, ""
        found = [(table[name, row], name) for name in self.rivals if (name, row) in table]
        if not found:
            return None, ""
        return max(found) if is_rate(row.metric) else min(found)

    def quotient(self, metric, ours, theirs):
        """Below 1: ours is better."""
        floor = getattr(self.description, "NEGLIGIBLE", {}).get(metric, 0)
        if abs(ours) <= floor and abs(theirs) <= floor:
            return 1.0
        if is_rate(metric):
            return theirs / max(ours, TINY)
        return ours / max(theirs, floor, TINY)

    def ratio(self, name, row, table=None):
        """To the best rival, or None."""
        table = self.values if table is None else table
        ours, best = table.get((name, row)), self.best(row, table)[0]
        return None if ours is None or best is None else self.quotient(row.metric, ours, best)

    def is_ours(self, name):
        return name.startswith("slab") or name in getattr(self.description, "SHOWN", ())

    # ---- goals ----

    def judge(self, goal, row):
        """(ours, theirs, whose, ratio, met) of one row, or None."""
        ours = self.values.get((goal.ours, row))
        if ours is None or (goal.sizes and row.size not in goal.sizes):
            return None
        if goal.against is None:
            return ours, goal.limit, "", ours / goal.limit, ours <= goal.limit
        if goal.against == "rivals":
            theirs, whose = self.best(row)
        else:
            name, case = goal.against
            theirs = self.values.get((name, row._replace(case=case)))
            whose = name if case == row.case else case
        if theirs is None:
            return None
        ratio = self.quotient(row.metric, ours, theirs)
        return ours, theirs, whose, ratio, ratio <= goal.limit

    def judged(self):
        """[(goal, row, ours, theirs, whose, ratio, met)]"""
        found = []
        for goal in getattr(self.description, "GOALS", ()):
            for row in self.measured:
                if (row.case, row.metric) == (goal.case, goal.metric):
                    verdict = self.judge(goal, row)
                    found += [(goal, row, *verdict)] if verdict else []
        return found

    # ---- text ----

    def shown(self, metric, value):
        if value is None:
            return ""
        unit = self.description.METRICS[metric]
        divisor, digits = runner.UNITS[unit]
        value /= divisor
        digits = digits + 2 if unit != "" and 0 < abs(value) < 1 else digits
        return f"{value:,.{0 if abs(value) >= 1000 else digits}f}"

    def overview(self, ours):
        """A line for each case, and for each metric of one that has sizes: the figure, the ratio to the best
        rival, and its name.
        """
        lines = collections.defaultdict(list)
        missed = {(row, goal.ours) for goal, row, *_, met in self.judged() if not met}
        for row in self.measured:
            value = self.values.get((ours, row))
            if value is not None:
                ratio, whose = self.ratio(ours, row), self.best(row)[1]
                cell = f"{row.size}: " if row.size else f"{self.unit(row.metric)} "
                cell += self.shown(row.metric, value)
                cell += f" · {ratio:.2f} {whose}" if ratio is not None else ""
                cell += " MISSED" if (row, ours) in missed else ""
                lines[f"{row.case:<20} " + (f"{self.unit(row.metric)} " if row.size else "")].append(cell)
        return [line + "   ".join(cells) for line, cells in lines.items()]

    def unit(self, metric):
        unit = self.description.METRICS[metric]
        return metric if metric == unit or not unit else f"{metric}, {unit}"

    def summary(self):
        """For the terminal. Without libslab, the first contestant takes its place."""
        shown = [name for name in getattr(self.description, "SHOWN", ("slab",)) if name in self.contestants]
        lines = []
        for name in shown or self.contestants[:1]:
            lines += [f"{name}: figure · ratio to the best rival of the row (below 1: better) and its name",
                      *self.overview(name)]
        judged = self.judged()
        met = sum(one[-1] for one in judged)
        lines += self.heads_table()[2:]
        return "\n".join(lines + ([f"{met} of {len(judged)} goals met"] if judged else []))

    def heads(self):
        """[(rival, part, won, level, lost, geometric mean)] of libslab against each rival alone."""
        found = []
        for part, metrics in getattr(self.description, "HEADS", {}).items():
            for rival in self.rivals:
                ratios = [self.quotient(row.metric, self.values["slab", row], self.values[rival, row])
                          for row in self.measured if row.metric in metrics
                          and ("slab", row) in self.values and (rival, row) in self.values]
                if ratios:
                    won, lost = sum(r < 1 / LEVEL for r in ratios), sum(r > LEVEL for r in ratios)
                    mean = math.exp(statistics.fmean(math.log(max(r, TINY)) for r in ratios))
                    found.append((rival, part, won, len(ratios) - won - lost, lost, mean))
        return found

    def heads_table(self):
        lines = ["| rival | | won | level | lost | mean |", "|---|---|---:|---:|---:|---:|"]
        lines += [f"| {rival} | {part} | {won} | {level} | {lost} | {mean:.2f} |"
                  for rival, part, won, level, lost, mean in self.heads()]
        return ["", "## Head to head", "", "Rows that slab wins, within 5 % of each other, and loses, against each "
                "rival alone; the geometric mean of its ratios (below 1: slab is better).", "", *lines
                ] if len(lines) > 2 else []

    def goals_table(self):
        lines = ["| case | size | | ours | | against | | ratio | goal | |",
                 "|---|---:|---|---|---:|---|---:|---:|---:|---|"]
        for goal, row, ours, theirs, whose, ratio, met in self.judged():
            limit = f"{goal.limit if goal.against else 1:.2f}"
            lines.append(f"| {row.case} | {row.size or ''} | {self.unit(row.metric)} | {goal.ours} "
                         f"| {self.shown(row.metric, ours)} | {whose} | {self.shown(row.metric, theirs)} "
                         f"| {ratio:.2f} | ≤ {limit} | {'met' if met else '**missed**'} |")
        return ["", "## Goals", ""] + lines if len(lines) > 2 else []

    def cell(self, name, row):
        value = self.values.get((name, row))
        if value is None:
            return ""
        least = self.least[name, row]
        text = self.shown(row.metric, value)
        return text if least == value else f"{text} ({self.shown(row.metric, least)})"

    def case_table(self, case):
        """All figures of a case: a row for each size and metric, a column for each contestant."""
        rows = [row for row in self.measured if row.case == case]
        names = [name for name in self.contestants if any((name, row) in self.values for row in rows)]
        ours = [name for name in names if self.is_ours(name)]
        ratios = [f"{name} / best" for name in ours] if self.rivals else []
        title = self.description.CASES.get(case, "")
        lines = ["", f"### {case}{': ' if title else ''}{title}", "",
                 "| size | | " + " | ".join(names + ["best rival"] + ratios) + " |",
                 "|---:|---|" + "---:|" * (len(names) + 1 + len(ratios))]
        for row in rows:
            cells = [self.cell(name, row) for name in names] + [self.best(row)[1]]
            for name in ours if ratios else ():
                ratio, least = self.ratio(name, row), self.ratio(name, row, self.least)
                cells.append("" if ratio is None else f"{ratio:.2f} ({least:.2f})")
            lines.append(f"| {row.size or ''} | {self.unit(row.metric)} | " + " | ".join(cells) + " |")
        return lines

    def markdown(self, name, head, rounds):
        out = [f"# {name}: {self.description.QUESTION}", ""] + [f"- {line}" for line in head]
        out += ["", f"Medians of {rounds} {'rounds' if rounds > 1 else 'round'}, in brackets the best of all. A ratio below 1 "
                f"is better than the best rival{': ' if self.rivals else ''}{', '.join(self.rivals)}. "
                f"benchmarks/{name}/README.md says what each case does."]
        out += self.goals_table() + self.heads_table() + ["", "## All cases"]
        for case in dict.fromkeys(row.case for row in self.measured):
            out += self.case_table(case)
        return "\n".join(out) + "\n"
