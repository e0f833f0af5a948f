# SPDX-License-Identifier: MIT
"""Write the figures of docs/performance.md from the results of benchmarks.

Between "<!-- rendered: NAME -->" and "<!-- end -->" the page has what a function of BLOCKS
returns; all other text is written by hand and stays. The part of NAME before the dot is the
benchmark, whose newest results are those of benchmarks/BENCHMARK/results. Of most benchmarks these are
raw rows; of those in TABLES they are the tables that the benchmark wrote.
"""
import csv
import difflib
import glob
import importlib.util
import os
import re
import shutil
import textwrap

import report

PAGE = os.path.join("docs", "performance.md")
BLOCK = re.compile(r"(<!-- rendered: (\S+) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
WIDTH = 150  # of lines of text

# The rows of the page: cases of the object benchmark, and those of slab_malloc().
CASES = (
    "pair", "in_order.alloc", "in_order.free", "random.alloc", "random.free", "all.pair",
    "all.alloc", "all.free", "ring.1", "ring.64", "ring.line", "lifetimes", "lifetimes.shared",
    "lifetimes.random", "lifetimes.touched", "lifetimes.random_2", "lifetimes.zipf",
    "lifetimes.burst", "survivors.alloc", "survivors.free", "threads.64", "memory.live",
    "memory.random", "memory.idle_64")
MALLOC_CASES = ("pair", "in_order.alloc", "in_order.free", "random.alloc", "random.free")
SHOWN_SIZES = report.GOAL_SIZES + (report.NO_SIZE,)


class Refused(Exception):
    """The page cannot be rendered; the text says why."""


# ---- results ----

class Results:
    """The raw rows of one run of a benchmark, and the machine that its tables name."""

    def __init__(self, root, path):
        self.root, self.path = root, path
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.names = list(dict.fromkeys(row["contestant"] for row in rows))
        self.rounds = len({row["round"] for row in rows})
        if not os.path.exists(self.beside(".md")):
            raise Refused(f"there is no {self.beside('.md')}, which names the machine")
        with open(self.beside(".md"), encoding="utf-8") as file:
            self.machine = next((line[2:].rstrip("\n") for line in file if line.startswith("- ")), "")
        self.read(rows)

    def beside(self, ending):
        return os.path.splitext(self.path)[0] + ending

    def link(self, ending):
        """From the page to a file of the same run."""
        return os.path.relpath(self.beside(ending), os.path.join(self.root, os.path.dirname(PAGE)))


class Objects(Results):
    """All that the page shows was measured."""

    def read(self, rows):
        cases = list(dict.fromkeys(row["case"] for row in rows))
        self.table = report.Table(self.path, self.names, cases)
        wanted = [("slab", case, size) for case in CASES for size in report.GOAL_SIZES]
        wanted += [("slab-malloc", case, size) for case in MALLOC_CASES
                   for size in report.GOAL_SIZES]
        wanted += [("slab", "trace", report.NO_SIZE)]
        for contestant, case, size in wanted:
            if self.table.ratio(contestant, case, size) is None:
                where = f" at {size} bytes" if size != report.NO_SIZE else ""
                raise Refused(f"{self.path} has no figure to compare for {contestant} in {case}"
                              f"{where}; the page needs all cases (not --quick)")

    @staticmethod
    def kept(row):
        """Does the project keep this row of a run?"""
        return int(row["bytes"]) in SHOWN_SIZES


class Slides(Results):
    """The slides' tables; their goals are judged by the benchmark's own report."""

    def read(self, rows):
        path = os.path.join(os.path.dirname(report.__file__), "..", "slides", "report.py")
        spec = importlib.util.spec_from_file_location("slides_report", path)
        self.report = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.report)
        self.found = self.report.Results(self.path, self.names)
        if not self.report.goals(self.found):
            raise Refused(f"{self.path} has no row that a goal is for")

    @staticmethod
    def kept(_row):
        return True



class Tables:
    """The goals in the tables of a benchmark. A run may have measured some cases only: the rows of a case
    are those of the newest run that has it.
    """

    GOALS = re.compile(r"^## Goals\n\n(.*?)(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)

    def __init__(self, root, paths):
        self.root, self.path = root, paths[-1]
        self.cases, self.machines = {}, {}
        for path in paths:
            self.read(path)
        self.machine = self.machines[self.path]

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        goals = self.GOALS.search(text)
        if not goals:
            raise Refused(f"{path} has no table of goals; the page needs a run without --quick")
        self.machines[path] = next((line[2:] for line in text.splitlines() if line.startswith("- ")), "")
        self.head, found = goals.group(1).splitlines()[:2], {}
        for row in goals.group(1).splitlines()[2:]:
            found.setdefault(row.split("|")[1].strip(), []).append(row)
        self.cases.update({case: (path, rows) for case, rows in found.items()})

    def beside(self, ending):
        return os.path.splitext(self.path)[0] + ending


BENCHMARKS = {"objects": Objects, "slides": Slides}
TABLES = ("malloc", "memory", "servers", "listener")


# ---- blocks ----

def paragraph(text):
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def source_block(results):
    text = paragraph(f"Measured on {results.machine}: {results.rounds} rounds. All figures: "
                     f"[tables]({results.link('.md')}), [CSV]({results.link('.csv')}).")
    if os.path.exists(results.beside(".svg")):
        text += f"\n\n![The same as a chart]({results.link('.svg')})"
    return text


def goals_shown(contestant, case):
    """The limits of a row against the rivals, those of small sizes first."""
    limits = [goal.limit for goal in report.GOALS
              if (goal.case, goal.ours, goal.against) == (case, contestant, "rivals")]
    return ", ".join(f"{limit:.2f}" for limit in dict.fromkeys(limits))


def cell(table, contestant, case, size):
    """The median, its ratio to the best rival's, that of the shortest laps, and the rival."""
    return (f"{report.shown(case, table.value(contestant, case, size))} · "
            f"{table.ratio(contestant, case, size):.2f} "
            f"({table.shortest_ratio(contestant, case, size):.2f}) "
            f"{table.best_rival(case, size)[1]}")


def rows_block(results):
    first, *others = report.GOAL_SIZES
    lines = [f"| row | {first} bytes | " + " | ".join(map(str, others)) + " | goal |",
             "|---|" + "---|" * (len(report.GOAL_SIZES) + 1)]
    rows = [("slab", case, f"`{case}`") for case in CASES]
    rows += [("slab-malloc", case, f"`{case}`, slab_malloc") for case in MALLOC_CASES]
    for contestant, case, title in rows:
        cells = [cell(results.table, contestant, case, size) for size in report.GOAL_SIZES]
        lines.append(f"| {title} | " + " | ".join(cells) + f" | {goals_shown(contestant, case)} |")
    return "\n".join(lines)


def goals_block(results):
    table = results.table
    judged = [line for goal in report.GOALS for line in report.judge(table, goal)]
    return paragraph(f"{table.rings} {sum(line[5] for line in judged)} of {len(judged)} goals are "
                     "met, with those against DPDK's pool.")


def trace_block(results):
    """The recorded program: the CPU time of an allocation or a free with each allocator."""
    table, case, size = results.table, "trace", report.NO_SIZE
    found = sorted((table.value(name, case, size), name) for name in report.RIVALS
                   if table.value(name, case, size))
    others = ", ".join(f"{name} {report.shown(case, value)}" for value, name in found)
    ours = report.shown(case, table.value("slab", case, size))
    return paragraph(f"The recorded program (`{case}`): {ours} ns of CPU time for each allocation "
                     f"or free; {others}. Its goal is {goals_shown('slab', case)} of the best; it "
                     f"is {table.ratio('slab', case, size):.2f}.")


def slides_goals_block(results):
    return "\n".join(results.report.goals_table(results.found))


def tables_block(results):
    """The goals, below the files and machines that they are from."""
    files = sorted({path for path, _ in results.cases.values()}, reverse=True)
    docs = os.path.join(results.root, os.path.dirname(PAGE))
    lines = [paragraph(f"[{os.path.splitext(os.path.basename(path))[0]}]({os.path.relpath(path, docs)}): "
                       f"{results.machines[path]}.") for path in files]
    rows = [row for _, rows in results.cases.values() for row in rows]
    met = sum(row.endswith("| met |") for row in rows)
    lines += ["", f"{met} of {len(rows)} goals are met.", ""] + results.head + rows
    return "\n".join(lines)


BLOCKS = {"objects.source": source_block, "objects.rows": rows_block,
          "objects.goals": goals_block, "objects.trace": trace_block,
          "slides.source": source_block, "slides.goals": slides_goals_block,
          **{f"{name}.goals": tables_block for name in TABLES}}


# ---- the page ----

def rendered(page, results_of):
    """The text of the page with its blocks replaced; those for whose benchmark results_of()
    returns None stay.
    """
    def block(found):
        begin, name, _, end = found.groups()
        if name not in BLOCKS:
            raise Refused(f"{PAGE} has a block '{name}'; there are: {', '.join(BLOCKS)}")
        results = results_of(name.partition(".")[0])
        return found.group() if results is None else begin + BLOCKS[name](results) + "\n" + end

    return BLOCK.sub(block, page)


def results_folder(root, benchmark):
    return os.path.join(root, "benchmarks", benchmark, "results")


def newest(root, benchmark):
    """The results that the page has figures of: those named by their day alone."""
    ending, kind = ("[0-9]*.md", "table") if benchmark in TABLES else ("[0-9]*.csv", "CSV")
    found = sorted(glob.glob(os.path.join(results_folder(root, benchmark), ending)))
    if not found:
        raise Refused(f"there is no {kind} in {os.path.relpath(results_folder(root, benchmark), root)}")
    if benchmark in TABLES:
        return Tables(root, found)
    return BENCHMARKS[benchmark](root, found[-1])


def kept_results(root):
    """results_of() for rendered(): the newest ones of the project, read once."""
    read = {}

    def results_of(benchmark):
        if benchmark not in read:
            read[benchmark] = newest(root, benchmark)
        return read[benchmark]

    return results_of


def has_goals(path):
    """Does a run have what the page shows of this benchmark? With few cases or contestants it may not."""
    with open(path, encoding="utf-8") as file:
        return Tables.GOALS.search(file.read()) is not None


def run_results(root, folder):
    """results_of() for rendered(): those of a run, None where it has none."""
    read = {}
    for benchmark, kind in BENCHMARKS.items():
        path = os.path.join(folder, benchmark + ".csv")
        if os.path.exists(path):
            read[benchmark] = kind(root, path)
    for benchmark in TABLES:
        path = os.path.join(folder, benchmark + ".md")
        if os.path.exists(path) and has_goals(path):
            read[benchmark] = Tables(root, [path])
    if not read:
        names = [f"{name}.csv" for name in BENCHMARKS] + [f"{name}.md" for name in TABLES]
        raise Refused(f"'{folder}' has none of {', '.join(names)}; "
                      "./run bench writes them")
    return read.get


def adopt(root, folder):
    """Copy the results of a run to those of the project."""
    results_of = run_results(root, folder)
    for results in filter(None, map(results_of, (*BENCHMARKS, *TABLES))):
        date = re.search(r"\d{4}-\d{2}-\d{2}", results.machine)
        if not date:
            raise Refused(f"{results.beside('.md')} does not name its day")
        benchmark = os.path.splitext(os.path.basename(results.path))[0]
        os.makedirs(results_folder(root, benchmark), exist_ok=True)
        copy(results, os.path.join(results_folder(root, benchmark), date.group()))


def copy_rows(results, target):
    """The CSV without rows that the page does not need."""
    with open(results.path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        header, kept = rows.fieldnames, [row for row in rows if results.kept(row)]
    with open(target + ".csv", "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, header, lineterminator="\n")
        out.writeheader()
        out.writerows(kept)


def copy(results, target):
    """Rows, where the page is written from them, the tables, and the chart."""
    if isinstance(results, Results):
        copy_rows(results, target)
    with open(results.beside(".md"), encoding="utf-8") as file:
        text = file.read().replace(os.path.abspath(results.root) + os.sep, "")
    with open(target + ".md", "w", encoding="utf-8") as file:
        file.write(text)
    if os.path.exists(results.beside(".svg")):
        shutil.copy(results.beside(".svg"), target + ".svg")


def read_page(root):
    with open(os.path.join(root, PAGE), encoding="utf-8") as file:
        return file.read()


def render(root):
    """Write the page from the newest results."""
    text = rendered(read_page(root), kept_results(root))
    with open(os.path.join(root, PAGE), "w", encoding="utf-8") as file:
        file.write(text)


def page_beside(root, folder):
    """The page with the figures of one run, in the run's folder; its links lead to the files of
    the project.
    """
    text = rendered(read_page(root), run_results(root, folder))
    docs = os.path.join(root, os.path.dirname(PAGE))
    text = re.sub(r"\]\((?!https?:|#)([^)]*)\)",
                  lambda link: f"]({os.path.relpath(os.path.join(docs, link.group(1)), folder)})", text)
    with open(os.path.join(folder, os.path.basename(PAGE)), "w", encoding="utf-8") as file:
        file.write(text)


def difference(root):
    """What rendering would change, as a diff; "" when nothing."""
    page = read_page(root)
    wanted = rendered(page, kept_results(root))
    return "".join(difflib.unified_diff(page.splitlines(True), wanted.splitlines(True),
                                        PAGE, "rendered"))
