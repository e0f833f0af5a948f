# SPDX-License-Identifier: MIT
"""Do two runs differ? A verdict for each row that both have.

A sample is the figure of a row in one round: laps within a process are not independent. Mann-Whitney's
test asks whether the samples of one run tend to be larger; p-values are corrected for the number of
rows by Benjamini and Hochberg. A bootstrap has the interval of the ratio of medians. Rows of other
allocators are the control: they are the same programs in both runs, so where they differ, the machine did.
"""
import collections
import csv
import math
import os
import statistics
import warnings

import numpy
from scipy import stats

import runner
import table

ALPHA = 0.05
RESAMPLES = 4000
CONTROL_LIMIT = 0.1  # a larger share of control rows that differ: another machine, or another load
SAME, FEW = "no difference shown", "too few samples"
OTHERS = {*runner.RIVALS, "empty", "malloc", "slapd", "ns-slapd"}

# ratio: B's median to A's, low and high its interval; p: corrected
Compared = collections.namedtuple("Compared", "name a b ratio low high p verdict worse")


class Bad(Exception):
    """A file or folder has no samples; the text says why."""


# ---- samples ----

def files_of(path):
    """[(benchmark, path)] of a run's folder, of a build's last runs, or of one file."""
    if os.path.isfile(path):
        return [("", path)]
    if os.path.isdir(os.path.join(path, "bench")):
        path = os.path.join(path, "bench")
    found = sorted(os.listdir(path)) if os.path.isdir(path) else []
    files = [(name[:-len(".csv")], os.path.join(path, name)) for name in found if name.endswith(".csv")]
    if not files:
        raise Bad(f"'{path}' has no results (NAME.csv)")
    return files


def read(path, metrics, shortest=False):
    """{row: samples} by (benchmark, contestant, case, size, metric). metrics: of each benchmark, those that
    its table shows. shortest: the best lap of a process instead of the median of its laps.
    """
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, file in files_of(path):
        shown = metrics.get(os.path.basename(file)[:-len(".csv")])
        with open(file, encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(lines)
            if tuple(rows.fieldnames or ()) != runner.COLUMNS:
                raise Bad(f"{file} has other columns than {','.join(runner.COLUMNS)}")
            for row in rows:
                if shown and row["metric"].removesuffix(table.LEAST) not in shown:
                    continue
                key = tuple(filter(None, (name, row["contestant"], row["case"], row["size"], row["metric"])))
                found[key][row["round"]].append(float(row["value"]))
    values = {key: [statistics.median(rounds[turn]) for turn in sorted(rounds)]
              for key, rounds in found.items()}
    least = {key[:-1] + (key[-1].removesuffix(table.LEAST),): samples for key, samples in values.items()
             if key[-1].endswith(table.LEAST)}
    values = {key: samples for key, samples in values.items() if not key[-1].endswith(table.LEAST)}
    return {**values, **least} if shortest else values


# ---- verdicts ----

def mann_whitney(a, b):
    ties = len(set(a) | set(b)) < len(a) + len(b)
    if len(set(a) | set(b)) == 1:
        return 1.0
    return stats.mannwhitneyu(b, a, method="asymptotic" if ties else "exact").pvalue


def interval(a, b):
    """Of the ratio of medians, 95 %."""
    def ratio(x, y, axis=-1):
        return numpy.median(y, axis=axis) / numpy.median(x, axis=axis)

    if len(a) < 2 or len(b) < 2:
        return math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # samples that are all the same
        found = stats.bootstrap((a, b), ratio, vectorized=True, n_resamples=RESAMPLES, method="percentile",
                                random_state=numpy.random.default_rng(1))
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def smallest_p(n, m):
    """What Mann-Whitney's test gives when all samples of one run are larger."""
    return 2 / math.comb(n + m, n)


def corrected(values):
    """Benjamini and Hochberg's, in the order of `values`."""
    result, least = [1.0] * len(values), 1.0
    for rank, i in sorted(enumerate(numpy.argsort(values), 1), reverse=True):
        least = min(least, values[i] * len(values) / rank)
        result[i] = least
    return result


def verdict(key, a, b, p, ratio):
    if smallest_p(len(a), len(b)) > ALPHA:
        return FEW
    if p >= ALPHA or ratio == 1:
        return SAME
    return "better" if (ratio > 1) == table.is_rate(key[-1]) else "worse"


def compared(a, b, keys, threshold):
    """[Compared] of these rows, corrected for their number."""
    result = []
    for key, p in zip(keys, corrected([mann_whitney(a[key], b[key]) for key in keys])):
        before, after = float(numpy.median(a[key])), float(numpy.median(b[key]))
        low, high = interval(a[key], b[key])
        said = verdict(key, a[key], b[key], p, after / before)
        beyond = high < 1 / (1 + threshold) if table.is_rate(key[-1]) else low > 1 + threshold
        result.append(Compared(" ".join(key), before, after, after / before, low, high, p, said,
                               said == "worse" and beyond))
    return result


def is_control(key):
    return not OTHERS.isdisjoint(key)


def compare(a, b, threshold):
    """(rows of libslab, rows of others)"""
    common = [key for key in a if key in b and numpy.median(a[key]) > 0 and numpy.median(b[key]) > 0]
    return (compared(a, b, [key for key in common if not is_control(key)], threshold),
            compared(a, b, [key for key in common if is_control(key)], threshold))


# ---- text ----

def number(value):
    return f"{value:,.0f}" if value >= 10000 else f"{value:.4g}"


def lines_of(rows):
    """A table for a terminal; it is Markdown, too."""
    lines = [("row", "A", "B", "B / A", "95 %", "p", "verdict")]
    lines += [(row.name, number(row.a), number(row.b), f"{row.ratio:.3f}",
               f"{row.low:.3f} to {row.high:.3f}", f"{row.p:.4f}", row.verdict) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, tuple("-" * width for width in widths))
    return ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]


def text(rows, control, threshold, everything):
    """The comparison for readers; without `everything`, only of rows that differ."""
    rows = sorted(rows, key=lambda row: (not row.worse, -row.ratio))
    shown = [row for row in rows if everything or row.verdict not in (SAME, FEW)]
    lines = lines_of(shown) + [""] if shown else []
    counts = collections.Counter(row.verdict for row in rows)
    lines.append(f"{len(rows)} rows: {', '.join(f'{n} {said}' for said, n in counts.most_common())}.")
    differ = [row for row in control if row.verdict not in (SAME, FEW)]
    if control:
        lines.append(f"Control: {len(differ)} of {len(control)} rows of other allocators differ, median ratio "
                     f"{statistics.median(row.ratio for row in control):.3f}.")
    if len(differ) > CONTROL_LIMIT * len(control):
        lines.append("The machine was not the same in both runs: measure again, in turns (--compare BUILD BUILD).")
    if counts[FEW]:
        lines.append("A row needs four rounds of each run at least, eight when it is one of a hundred.")
    bad = [row.name for row in rows if row.worse]
    lines.append(f"Worse by more than {threshold * 100:g} %: {', '.join(bad) or 'no row'}.")
    return "\n".join(lines)
