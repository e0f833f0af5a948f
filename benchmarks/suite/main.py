# SPDX-License-Identifier: MIT
"""The options of ./run bench that name no benchmark. ./run has built everything before it asks
for a run; all other options need no build.
"""
import argparse
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "objects")]
import bench  # noqa: E402
import everything  # noqa: E402
import interleave  # noqa: E402
import machine  # noqa: E402
import samples  # noqa: E402
import table  # noqa: E402

USAGE = """./run bench [--quick]
       ./run bench NAME [OPTION]...
       ./run bench --list
       ./run bench --compare A B [--threshold PERCENT] [--all] [--shortest]
                                 [--rounds N] [--cases REGEX] [--sizes LIST]"""
EPILOG = """Without NAME, all benchmarks run, one after the other, and write tables, figures, charts and the
description of the machine to build/bench/DATE/. A benchmark that fails does not stop the others;
the exit status is then 1. An interrupt keeps what is finished. ./run bench NAME --help has the
options of a benchmark.

"""


class Parser(bench.Parser):
    """Messages of ./run bench itself."""

    def __init__(self):
        super().__init__("", "Measure libslab against other allocators.")
        self.usage, self.epilog = USAGE, EPILOG + table.listed()
        self.formatter_class = argparse.RawDescriptionHelpFormatter

    def refuse(self, text):
        print(f"run bench: {text}", file=sys.stderr)
        sys.exit(bench.EXIT_USAGE)


def make_parser():
    parser = Parser()
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--quick", action="store_true",
                      help=f"all benchmarks with less work, in {table.QUICK_LIMIT_S // 60} minutes")
    what.add_argument("--list", action="store_true",
                      help="the benchmarks, how long they take, and their cases")
    what.add_argument("--compare", metavar=("A", "B"), nargs=2,
                      help="say of each row whether run B differs from run A: folders of results "
                      "(build/bench/DATE), files, or two builds, which the object benchmark then "
                      "measures in turns; exit status 1 when libslab became worse")
    parser.add_argument("--threshold", metavar="PERCENT",
                        help="of --compare: by how much worse is a failure (default 5)")
    parser.add_argument("--all", action="store_true",
                        help="of --compare: rows without a difference, too")
    parser.add_argument("--shortest", action="store_true",
                        help="of --compare: the shortest lap of each process of objects and "
                        "slides instead of the median of its laps, for a busy machine")
    parser.add_argument("--rounds", help="of --compare with builds: processes of each build and "
                        f"allocator (default {interleave.ROUNDS})")
    parser.add_argument("--cases", metavar="REGEX", help="of --compare with builds: cases of the "
                        f"object benchmark (default {interleave.CASES})")
    parser.add_argument("--sizes", metavar="LIST", help="of --compare with builds (default "
                        f"{interleave.SIZES})")
    return parser


def check_combination(parser, args):
    """The options of --compare belong to it, some of them only when it measures."""
    builds = [args.rounds, args.cases, args.sizes]
    if args.compare is None and (args.all or args.shortest or args.threshold is not None
                                 or any(builds)):
        parser.refuse("--threshold, --all, --shortest, --rounds, --cases and --sizes belong to "
                      "--compare")
    if args.compare and any(builds) and not all(map(interleave.is_build, args.compare)):
        parser.refuse("--rounds, --cases and --sizes are for two builds, folders with "
                      "bin/objects-slab")


def run_all(quick):
    build = os.path.join(ROOT, "build")
    # To be stopped by kill(1), or with the terminal, is the same as by the keyboard.
    for number in everything.INTERRUPTS:
        signal.signal(number, signal.default_int_handler)
    run = everything.Everything(ROOT, build, quick, machine.described(ROOT, build))
    shown = os.path.relpath(run.folder)
    try:
        good = run.run()
    except KeyboardInterrupt:
        print(f"\nrun bench: interrupted; {len(run.outcomes)} of {len(run.benchmarks)} benchmarks "
              f"are finished, in {shown}", file=sys.stderr)
        return 130
    print(f"results: {shown}/run.md")
    hint = samples.hint(run.folder)
    if hint:
        print(hint)
    for outcome in run.outcomes:
        if outcome.failure:
            print(f"{outcome.name} failed: {outcome.failure}; {shown}/{outcome.name}.log")
    return 0 if good else 1


def compare_runs(parser, args):
    try:
        import compare  # needs scipy, which nothing else does
    except ImportError as error:
        parser.refuse(f"--compare needs numpy and scipy (python3-scipy): {error}")
    threshold = parser.number("--threshold", args.threshold, 5, 0, 1000) / 100
    rounds = parser.number("--rounds", args.rounds, interleave.ROUNDS, 1, 1000)
    paths = args.compare
    if all(map(interleave.is_build, paths)):
        folder = everything.new_folder(os.path.join(ROOT, "build"),
                                       time.strftime("%Y-%m-%d") + "-compare")
        paths = interleave.measure(parser, paths, rounds, args.cases, args.sizes,
                                   os.path.relpath(folder))
    runs = [samples.read(path, args.shortest) for path in paths]
    comparison = compare.Comparison(*runs, threshold)
    if not comparison.rows:
        parser.refuse(f"'{paths[0]}' and '{paths[1]}' have no row of libslab in common")
    print(f"A: {paths[0]}\nB: {paths[1]}\n\n{compare.text(comparison, args.all)}")
    return 1 if comparison.regressions() else 0


def main():
    parser = make_parser()
    args = parser.parse_args()
    check_combination(parser, args)
    try:
        if args.list:
            print(table.listed())
            return 0
        if args.compare:
            return compare_runs(parser, args)
    except samples.Bad as error:
        parser.refuse(str(error))
    except samples.Failed as error:
        print(f"run bench: {error}", file=sys.stderr)
        return 1
    return run_all(args.quick)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nrun bench: interrupted", file=sys.stderr)
        sys.exit(130)
