# SPDX-License-Identifier: MIT
"""The picture of a run, by matplotlib: ratios to the best rival, or curves over time."""
import math
import textwrap

COLOURS = {"slab": "#e4472b", "slab-lto": "#a3203f", "slab-malloc": "#f0916f", "slab-movable": "#d6247e",
           "glibc": "#8a939c", "jemalloc": "#3b82c4", "tcmalloc": "#2fa084", "mimalloc": "#8f6fc9",
           "jemalloc5": "#1f5a94", "mimalloc2": "#b39ddb", "mimalloc3": "#5e35b1", "snmalloc": "#c2577f",
           "rpmalloc": "#7a8b2f", "google": "#14594b",
           "SLAB": "#3b82c4", "sheaves": "#2fa084", "slob": "#8a939c"}
PANELS = 4
LEAST_WIDTH = 7.5  # inches
LOW, HIGH = 0.2, 8.0  # of the ratios' axis; what lies beyond stands at its end
MIB = 1 << 20


def begin():
    """matplotlib, or None where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("svg")
    matplotlib.rcParams.update({"font.size": 8, "axes.titlesize": 9, "axes.spines.top": False,
                                "axes.spines.right": False, "svg.fonttype": "none"})
    from matplotlib import pyplot
    return pyplot


def colour(name, i):
    return COLOURS.get(name, f"C{i}")


def spread(values, points):
    """At most so many values, evenly."""
    step = max(1, math.ceil(len(values) / points))
    return values[::step][:points]


def write_title(figure, title):
    lines = textwrap.wrap(title, int(figure.get_figwidth() * 13))
    figure.suptitle("\n".join(lines), x=0.01, ha="left")


def panels_of(table):
    """[(title, [(label, row)])]: one for each size, or for each metric when there are no sizes."""
    rows = [row for row in table.measured if table.best(row)[1]]
    sizes = sorted({row.size for row in rows if row.size})
    metrics = [metric for metric in table.description.METRICS if any(row.metric == metric for row in rows)]
    if sizes:
        return [(f"{size} bytes", [(row.case, row) for row in rows if row.size == size])
                for size in spread(sizes, PANELS)]
    return [(table.unit(metric), [(row.case, row) for row in rows if row.metric == metric])
            for metric in metrics[:PANELS]]


def ratios(pyplot, table, title):
    """Of each case the ratio of each contestant to the best rival, on a logarithmic axis."""
    panels = panels_of(table)
    labels = list(dict.fromkeys(label for _, rows in panels for label, _ in rows))
    figure, axes = pyplot.subplots(1, len(panels), sharey=True, squeeze=False,
                                   figsize=(max(LEAST_WIDTH, 1.6 + 2.6 * len(panels)), 1.7 + 0.19 * len(labels)))
    for axis, (name, rows) in zip(axes[0], panels):
        for i, contestant in enumerate(table.contestants):
            points = [(table.ratio(contestant, row), labels.index(label)) for label, row in rows
                      if table.ratio(contestant, row) is not None]
            ours = table.is_ours(contestant)
            axis.scatter([min(max(x, LOW), HIGH) for x, _ in points], [y for _, y in points],
                         s=26 if ours else 12, color=colour(contestant, i), label=contestant,
                         zorder=3 if ours else 2, alpha=1 if ours else 0.75, linewidths=0)
        axis.set(title=name, xscale="log", xlim=(LOW * 0.93, HIGH * 1.07))
        axis.set_xticks([0.25, 0.5, 1, 2, 4, 8], ["¼", "½", "1", "2", "4", "8"])
        axis.set_xticks([], minor=True)
        axis.set_yticks(range(len(labels)), labels)
        axis.grid(alpha=0.3)
        axis.axvline(1, color="#20262c", linewidth=0.8)
    axes[0][0].set_ylim(len(labels) - 0.4, -0.6)
    write_title(figure, f"{title}; ratio to the best rival of the row: left of 1 is better")
    return figure, axes[0]


def curves(pyplot, table, title):
    """Bytes over seconds, a panel for each case."""
    cases = [case for case in table.description.CASES if any(row.case == case for _, row in table.curve)]
    columns = min(2, len(cases))
    lines = math.ceil(len(cases) / columns)
    figure, axes = pyplot.subplots(lines, columns, squeeze=False, figsize=(max(LEAST_WIDTH, 5.4 * columns), 0.8 + 2.4 * lines))
    flat = list(axes.flat)
    for axis, case in zip(flat, cases):
        for i, contestant in enumerate(table.contestants):
            points = sorted((row.size, value / MIB) for (name, row), value in table.curve.items()
                            if name == contestant and row.case == case)
            axis.plot(*zip(*points) if points else ((), ()), color=colour(contestant, i), label=contestant,
                      linewidth=1.8 if table.is_ours(contestant) else 1.1)
        axis.set(title=f"{case}: {table.description.CASES[case]}", ylim=(0, None), xlabel="seconds",
                 ylabel="MiB")
        axis.grid(alpha=0.3)
    for axis in flat[len(cases):]:
        axis.set_visible(False)
    write_title(figure, title)
    return figure, flat[:len(cases)]


def draw(table, title, path):
    """Write the picture; None, or why there is none."""
    pyplot = begin()
    if pyplot is None:
        return "no chart: python3-matplotlib is not installed"
    if not table.curve and not panels_of(table):
        return "no chart: there is no rival to compare with"
    figure, axes = (curves if table.curve else ratios)(pyplot, table, title)
    found = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels())}
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, 0.2 * (1 + len(found) // int(figure.get_figwidth() / 1.3)) / height, 1, 1))
    figure.legend(found.values(), found.keys(), loc="lower left", frameon=False,
                  ncol=int(figure.get_figwidth() / 1.3), columnspacing=1)
    figure.savefig(path)
    pyplot.close(figure)
    return None
