# SPDX-License-Identifier: MIT
"""Do two runs differ? A verdict for each row that both have.

The samples of a row are one figure for each round. Mann-Whitney's test asks whether those of one
run tend to be larger; its p-values are corrected for the number of rows by Benjamini and
Hochberg, so that at most ALPHA of the differences found are none. A percentile bootstrap has the
interval of the ratio of medians, Cliff's delta the size of the effect: +1 when each sample of B
is larger than each of A, 0 when neither tends to be.

Rows of other allocators are not judged: they are the same programs in both runs, so where they
differ, the machine did.
"""
import collections
import math
import warnings

import numpy
from scipy import stats

ALPHA = 0.05
RESAMPLES = 4000
SEED = 1
EXACT = 30  # samples; the distribution of more is as good as normal
CONTROL_LIMIT = 0.1  # a larger share of control rows that differ: another machine, or another load
WORDS = {"time": ("faster", "slower"), "rate": ("slower", "faster"), "amount": ("less", "more")}
SAME, FEW = "no difference shown", "too few samples"
WORSE = {"time": "slower", "rate": "slower", "amount": "more"}

# ratio: B's median to A's, low and high its interval; p: corrected
Compared = collections.namedtuple("Compared", "name a b ratio low high delta p verdict worse rounds")


def mann_whitney(a, b):
    """(p, Cliff's delta)"""
    if len(set(a) | set(b)) == 1:
        return 1.0, 0.0
    ties = len(set(a) | set(b)) < len(a) + len(b)
    exact = not ties and max(len(a), len(b)) <= EXACT
    found = stats.mannwhitneyu(b, a, method="exact" if exact else "asymptotic")
    return found.pvalue, 2 * found.statistic / (len(a) * len(b)) - 1


def interval(a, b):
    """Of the ratio of medians, 95 %."""
    def ratio(x, y, axis=-1):
        return numpy.median(y, axis=axis) / numpy.median(x, axis=axis)

    if len(a) < 2 or len(b) < 2:
        return math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # samples that are all the same
        found = stats.bootstrap((a, b), ratio, vectorized=True, n_resamples=RESAMPLES,
                                method="percentile",
                                random_state=numpy.random.default_rng(SEED))
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def smallest_p(n, m):
    """What Mann-Whitney's test gives when all samples of one run are larger."""
    return 2 / math.comb(n + m, n)


def rounds_needed(rows):
    """That one row of so many, whose samples do not overlap at all, is found to differ."""
    return next(n for n in range(1, 1000) if smallest_p(n, n) * rows <= ALPHA)


def corrected(values):
    """Benjamini and Hochberg's, in the order of `values`."""
    result, least = [1.0] * len(values), 1.0
    for rank, i in sorted(enumerate(numpy.argsort(values), 1), reverse=True):
        least = min(least, values[i] * len(values) / rank)
        result[i] = least
    return result


def verdict(row, other, p, ratio):
    if smallest_p(len(row.values), len(other.values)) > ALPHA:
        return FEW
    if p >= ALPHA or ratio == 1:
        return SAME
    return WORDS[row.kind][ratio > 1]


def compared(a, b, names):
    """[Compared] of these rows, corrected for their number."""
    tests = [mann_whitney(a[name].values, b[name].values) for name in names]
    result = []
    for name, p, (_, delta) in zip(names, corrected([p for p, _ in tests]), tests):
        before, after = (float(numpy.median(rows[name].values)) for rows in (a, b))
        ratio, (low, high) = after / before, interval(a[name].values, b[name].values)
        said = verdict(a[name], b[name], p, ratio)
        result.append(Compared(name, before, after, ratio, low, high, delta, p, said,
                               said == WORSE[a[name].kind],
                               min(len(rows[name].values) for rows in (a, b))))
    return result


class Comparison:
    """Two runs: rows are judged, control has those of other allocators."""

    def __init__(self, a, b, threshold):
        self.threshold = threshold
        common = [name for name in a if name in b and numpy.median(a[name].values) > 0
                  and numpy.median(b[name].values) > 0]
        self.rows = compared(a, b, [name for name in common if not a[name].control])
        self.control = compared(a, b, [name for name in common if a[name].control])
        self.kinds = {name: a[name].kind for name in common}

    def beyond(self, row):
        """Worse by more than the threshold, with the whole interval?"""
        if not row.worse:
            return False
        if self.kinds[row.name] == "rate":
            return row.high < 1 / (1 + self.threshold)
        return row.low > 1 + self.threshold

    def regressions(self):
        """The largest ratio first."""
        return sorted(filter(self.beyond, self.rows), key=lambda row: -row.ratio)

    def control_differs(self):
        return [row for row in self.control if row.verdict not in (SAME, FEW)]


def number(value):
    return f"{value:,.0f}" if value >= 10000 else f"{value:.4g}"


def lines_of(rows):
    """A table for a terminal; it is Markdown, too."""
    table = [("row", "A", "B", "B / A", "95 %", "delta", "p", "verdict")]
    table += [(row.name, number(row.a), number(row.b), f"{row.ratio:.3f}",
               f"{row.low:.3f} to {row.high:.3f}", f"{row.delta:+.2f}", f"{row.p:.4f}", row.verdict)
              for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    table.insert(1, tuple("-" * width for width in widths))
    return ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |"
            for line in table]


def control_lines(comparison):
    control, differ = comparison.control, comparison.control_differs()
    if not control:
        return ["Control: none. Other allocators were not measured in both runs, so a change of the "
                "machine looks like one of libslab."]
    ratio = float(numpy.median([row.ratio for row in control]))
    lines = [f"Control: {len(differ)} of {len(control)} rows of other allocators differ, median "
             f"ratio {ratio:.3f}."]
    if len(differ) > CONTROL_LIMIT * len(control):
        lines.append("The machine was not the same in both runs: measure again, interleaved "
                     "(--compare BUILD BUILD).")
    return lines


def counted(rows):
    found = collections.Counter(row.verdict for row in rows)
    return ", ".join(f"{count} {said}" for said, count in found.most_common())


def text(comparison, everything):
    """The comparison for readers; without `everything`, only of rows that differ."""
    rows = sorted(comparison.rows, key=lambda row: (not comparison.beyond(row), -row.ratio))
    shown = [row for row in rows if everything or row.verdict not in (SAME, FEW)]
    lines = lines_of(shown) + [""] if shown else []
    lines += [f"{len(rows)} rows: {counted(rows)}."] + control_lines(comparison)
    needed = rounds_needed(len(rows))
    few = [row for row in rows if row.rounds < needed]
    if few:
        lines.append(f"Few rounds: {len(few)} rows have {min(row.rounds for row in few)} to "
                     f"{max(row.rounds for row in few)} of each run. A row needs at least {rounds_needed(1)}, "
                     f"and {needed} when no other of {len(rows)} differs. --compare with two builds "
                     "measures as many as --rounds says.")
    bad = comparison.regressions()
    percent = comparison.threshold * 100
    lines.append(f"Worse by more than {percent:g} %: " +
                 (", ".join(row.name for row in bad) if bad else "no row") + ".")
    return "\n".join(lines)
