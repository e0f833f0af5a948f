# SPDX-License-Identifier: MIT
"""./run bench: one runner for all benchmarks. A benchmark is a folder with a description, description.py, which
support/runner.py explains. ./run has built everything before it asks for a run.
"""
import argparse
import contextlib
import glob
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(HERE, "support"))
import bench  # noqa: E402
import chart  # noqa: E402
import runner  # noqa: E402
import table  # noqa: E402

EXIT_USAGE = 2
USAGE = """./run bench [NAME]... [OPTION]...
       ./run bench --list
       ./run bench --compare A B [--threshold PERCENT] [--all] [--shortest]
                                 [--rounds N] [--cases REGEX] [--sizes LIST]"""
COMPARED = "objects"  # what measures two builds in turns
COMPARED_CASES = "^(pair|in_order|random|ring|lifetimes|survivors)"
COMPARED_SIZES, COMPARED_ROUNDS = [64, 712], 9
COMPARED_CONTESTANTS = ("slab", "glibc")  # the second is the control


# ---- descriptions ----

def descriptions():
    """{name: path of its description.py}"""
    found = glob.glob(os.path.join(HERE, "*", "description.py"))
    found += glob.glob(os.path.join(ROOT, "dirsrv", "benchmarks", "*", "description.py"))
    return {os.path.basename(os.path.dirname(path)): path for path in sorted(found)}


def load(name):
    """The module that describes a benchmark."""
    path = descriptions()[name]
    spec = importlib.util.spec_from_file_location(f"description_{name.replace('-', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.append(os.path.dirname(path))
    spec.loader.exec_module(module)
    return module


def spoken(seconds):
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def listed():
    """What --list prints."""
    lines, totals = [f"{'benchmark':<10} {'quick':>6} {'full':>7}  question"], [0, 0]
    for name in descriptions():
        module = load(name)
        lines.append(f"{name:<10} {spoken(module.SECONDS[0]):>6} {spoken(module.SECONDS[1]):>7}  "
                     f"{module.QUESTION}")
        lines.append(f"{'':<26} cases: {' '.join(module.CASES)}")
        totals = [total + seconds for total, seconds in zip(totals, module.SECONDS)]
    return "\n".join(lines + [f"{'all':<10} {spoken(totals[0]):>6} {spoken(totals[1]):>7}"])


# ---- options ----

class Parser(argparse.ArgumentParser):
    """The options of all benchmarks, and those of the named ones; error messages of one line."""

    def __init__(self, modules):
        super().__init__(prog="./run bench", usage=USAGE, description="Measure libslab against other allocators.")
        self.add_argument("names", nargs="*", metavar="NAME", help="benchmarks; all without one")
        self.add_argument("--list", action="store_true",
                          help="the benchmarks, how long they take, and their cases")
        self.add_argument("--quick", action="store_true", help="less work; all benchmarks in 3 minutes")
        self.add_argument("--rounds", help="processes of each contestant and case")
        self.add_argument("--cases", metavar="REGEX", help="only these cases")
        self.add_argument("--sizes", metavar="LIST", help="object sizes in bytes, e.g. 64,240")
        self.add_argument("--contestants", metavar="LIST", help="only these, separated by commas")
        self.add_argument("--build", default=os.path.join(ROOT, "build"), help=argparse.SUPPRESS)
        self.add_argument("--compare", metavar=("A", "B"), nargs=2, help="say of each row whether run B differs "
                          "from run A: folders of results, files, or two builds, which are then measured "
                          "in turns; exit status 1 when libslab became worse")
        self.add_argument("--threshold", metavar="PERCENT", help="of --compare: worse by so much is a "
                          "failure (default 5)")
        self.add_argument("--all", action="store_true", help="of --compare: rows without a difference, too")
        self.add_argument("--shortest", action="store_true", help="of --compare: the shortest lap of each "
                          "process instead of the median of its laps, for a busy machine")
        self.own = {}
        for module in modules:
            for option, (quick, full, text) in getattr(module, "OPTIONS", {}).items():
                self.own[option] = type(full)
                self.add_argument(f"--{option}", help=f"{text} (default {full}, --quick {quick})")

    def error(self, message):
        self.refuse(f"{message}; --help lists the options")

    def refuse(self, text):
        print(f"run bench: {text}", file=sys.stderr)
        sys.exit(EXIT_USAGE)

    def number(self, option, text, default, low, high):
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
            self.refuse(f"{option} wants a number from {low} to {high}, not '{text}'")
        return int(text)

    def contestants(self, text, there):
        """The chosen contestants, in the order of `there`."""
        names = list(there) if text is None else text.split(",")
        for name in names:
            if name not in there:
                self.refuse(f"there is no contestant '{name}'; there are: {', '.join(there)}")
        return [name for name in there if name in names]

    def cases(self, text, there):
        """Those that a regular expression matches; all without one."""
        try:
            wanted = [case for case in there if text is None or re.search(text, case)]
        except re.error as error:
            self.refuse(f"--cases '{text}' is no regular expression: {error}")
        if not wanted:
            self.refuse(f"--cases '{text}' matches none of: {' '.join(there)}")
        return wanted

    def sizes(self, text):
        if text is None:
            return None
        return sorted({self.number("--sizes", word, 0, 8, 32768) for word in text.split(",")})

    def options(self, args):
        """Those of the benchmark that were given."""
        found = {name: getattr(args, name) for name in self.own if getattr(args, name) is not None}
        return {name: self.number(f"--{name}", text, 0, 0, 10**8) if self.own[name] is int else text
                for name, text in found.items()}


def check(parser, args):
    """The options of --compare belong to it."""
    if args.compare and args.names:
        parser.refuse("--compare takes two runs or builds and no name of a benchmark")
    if not args.compare and (args.all or args.shortest or args.threshold is not None):
        parser.refuse("--threshold, --all and --shortest belong to --compare")


# ---- a run ----

def machine(build):
    """What figures depend on, a line each."""
    cache = os.path.join(build, "CMakeCache.txt")
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=10"], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.strip()
    return [bench.machine(), bench.huge_pages(),
            f"compiler: {bench.line_from(cache, r'^CMAKE_C_COMPILER:.*=(.*)$')}, "
            f"{bench.line_from(cache, r'^CMAKE_BUILD_TYPE:.*=(.*)$')}; commit {commit or 'unknown'}"]


def choose(parser, module, args, short):
    """(contestants, cases) that take part."""
    less = getattr(module, "SHORT", {}) if short else {}
    there = {one.name: one for one in module.contestants(args.build)}
    usual = [name for name in there if name not in getattr(module, "NAMED", ())]
    wanted = args.contestants or less.get("contestants") or ",".join(usual)
    names = parser.contestants(wanted, list(there))
    cases = parser.cases(args.cases or less.get("cases"), list(module.CASES))
    return [there[name] for name in names], cases


def run_one(name, parser, args, folder, short=False):
    """Measure, and write CSV, table and picture; the number of failures of libslab."""
    module, path = load(name), os.path.join(folder, name)
    rounds = parser.number("--rounds", args.rounds, None, 1, 1000)
    sizes = parser.sizes(args.sizes) or (getattr(module, "SHORT", {}).get("sizes") if short else None)
    run = runner.Run(name, module, args.build, args.quick, 1 if short else rounds, sizes,
                     parser.options(args))
    contestants, cases = choose(parser, module, args, short)
    head, able = run.run(contestants, cases, path)
    head = machine(args.build) + head
    head += [f"{who} failed in {case}: {why}" for (who, case), why in run.failures.items()]
    found = table.Table(run.rows, module, [one.name for one in able])
    with open(path + ".md", "w", encoding="utf-8") as file:
        file.write(found.markdown(name, head, run.rounds))
    none = chart.draw(found, f"{name}: {module.QUESTION}", path + ".svg")
    print(found.summary())
    shown = os.path.relpath(path)
    print(f"table: {shown}.md   all figures: {shown}.csv   " + (none or f"picture: {shown}.svg"))
    return sum(found.is_ours(who) for who, _ in run.failures)


def new_folder(build, name):
    """build/bench/DATE; a second run of a day gets DATE.2."""
    base = os.path.join(build, "bench", name)
    path, count = base, 1
    while os.path.exists(path):
        count += 1
        path = f"{base}.{count}"
    os.makedirs(path)
    return path


def run_all(parser, args):
    """One after the other; a benchmark that fails does not stop the others."""
    folder, failures = new_folder(args.build, time.strftime("%Y-%m-%d")), []
    names = sorted(descriptions(), key=lambda name: load(name).SECONDS)
    left = sum(load(name).SECONDS[not args.quick] for name in names)
    for i, name in enumerate(names):
        print(f"[{i + 1}/{len(names)}] {name}; about {spoken(left)} left", file=sys.stderr, flush=True)
        left -= load(name).SECONDS[not args.quick]
        log = os.path.join(folder, name + ".log")
        try:
            with open(log, "w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
                failed = run_one(name, parser, args, folder, short=args.quick)
            error = f"{failed} of libslab's cases failed" if failed else ""
        except (runner.Failed, OSError) as why:
            error = str(why)
        if error:
            failures.append(name)
            print(f"{name} failed: {error}", file=sys.stderr)
    print(f"results: {os.path.relpath(folder)}")
    return 1 if failures else 0


# ---- two builds ----

def is_build(path):
    return os.path.exists(os.path.join(path, "bin", "objects-slab"))


def measure_builds(parser, args):
    """Two builds in turns, so that a busy minute does not always meet the same one; two folders of results."""
    module, folder = load(COMPARED), new_folder(args.build, time.strftime("%Y-%m-%d") + "-compare")
    cases = parser.cases(args.cases or COMPARED_CASES, list(module.CASES))
    rounds = parser.number("--rounds", args.rounds, COMPARED_ROUNDS, 1, 1000)
    runs, able, files = [], [], []
    progress = bench.Progress(2 * rounds, rounds)
    with contextlib.ExitStack() as stack:
        for build, label in zip(args.compare, "AB"):
            os.makedirs(os.path.join(folder, label))
            runs.append(runner.Run(COMPARED, module, build, False, rounds,
                                   parser.sizes(args.sizes) or COMPARED_SIZES))
            there = [one for one in module.contestants(build) if one.name in COMPARED_CONTESTANTS]
            able.append(runs[-1].take_part(there, "")[0])
            files.append(stack.enter_context(open(os.path.join(folder, label, COMPARED + ".csv"), "w",
                                                  encoding="utf-8")))
            files[-1].write(",".join(runner.COLUMNS) + "\n")
        for turn in range(rounds):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                runs[which].turn = turn
                progress.show(turn, args.compare[which])
                quiet = bench.Progress(len(able[which]), rounds)
                quiet.show = quiet.detail = lambda *_: None
                runs[which].step(able[which], cases, files[which], quiet)
        failures = [why for run in runs for why in run.failures.values()]
        if failures:
            raise runner.Failed(failures[0])
    progress.end()
    return [os.path.join(folder, label) for label in "AB"]


def compare_runs(parser, args):
    try:
        import compare
    except ImportError as error:
        parser.refuse(f"--compare needs numpy and scipy (python3-scipy): {error}")
    threshold = parser.number("--threshold", args.threshold, 5, 0, 1000) / 100
    paths = args.compare
    builds = all(map(is_build, paths))
    if not builds and (args.rounds or args.cases or args.sizes):
        parser.refuse("--rounds, --cases and --sizes are for two builds, folders with bin/objects-slab")
    metrics = {name: load(name).METRICS for name in descriptions()}
    try:
        a, b = (compare.read(path, metrics, args.shortest) for path in
                (measure_builds(parser, args) if builds else paths))
    except (compare.Bad, OSError, ValueError) as error:
        parser.refuse(str(error))
    rows, control = compare.compare(a, b, threshold)
    if not rows:
        parser.refuse(f"'{paths[0]}' and '{paths[1]}' have no row of libslab in common")
    print(f"A: {paths[0]}\nB: {paths[1]}\n\n{compare.text(rows, control, threshold, args.all)}")
    return 1 if any(row.worse for row in rows) else 0


def main(argv):
    parser = Parser([load(word) for word in argv if word in descriptions()])
    args = parser.parse_args(argv)
    check(parser, args)
    for name in args.names:
        if name not in descriptions():
            parser.refuse(f"there is no benchmark '{name}'; there are: {' '.join(descriptions())}")
    if args.list:
        print(listed())
        return 0
    if args.compare:
        return compare_runs(parser, args)
    if not args.names:
        return run_all(parser, args)
    folder = os.path.join(args.build, "bench")
    os.makedirs(folder, exist_ok=True)
    return 1 if sum([run_one(name, parser, args, folder) for name in args.names]) else 0


if __name__ == "__main__":
    # To be stopped by kill(1), or with the terminal, is the same as by the keyboard.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except runner.Failed as error:
        print(f"run bench: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\nrun bench: interrupted; the CSV files have what was finished", file=sys.stderr)
        sys.exit(130)
