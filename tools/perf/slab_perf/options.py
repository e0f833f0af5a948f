# SPDX-License-Identifier: MIT
"""The command line: options, exit status, and which module serves a command."""
import argparse
import os
import sys

from . import count, flame, record, report, stat
from .failure import Failure, Misuse

DEFAULT_FILE = "slab-perf.json"


class Parser(argparse.ArgumentParser):
    """Errors are one line, without the usage."""

    def error(self, message):
        raise Misuse(f"{message} ({self.prog} --help lists the options)")


def positive(kind, limit):
    """A type for add_argument(): a number above 0, at most `limit`."""
    def parse(text):
        try:
            number = kind(text)
        except ValueError:
            number = 0
        if not 0 < number <= limit:
            raise argparse.ArgumentTypeError(f"'{text}' is no number above 0, at most {limit}")
        return number
    return parse


def add_target(parser):
    parser.add_argument("-p", "--pid", metavar="PID", type=positive(int, 2**31 - 1),
                        help="the process to watch")
    parser.add_argument("-t", "--seconds", metavar="SECONDS", type=positive(float, 1e6),
                        help="how long; default: until the process ends or ^C")


def add_output(parser, meaning):
    parser.add_argument("-o", "--output", metavar="FILE", help=meaning)


def add_stat(commands):
    parser = commands.add_parser(
        "stat", help="per cache: misses of the fast path, latencies, slabs")
    add_target(parser)
    parser.set_defaults(run=stat.run)


def add_record(commands):
    parser = commands.add_parser(
        "record", help="record call sites and CPUs to a file")
    add_target(parser)
    add_output(parser, f"default {DEFAULT_FILE}")
    parser.set_defaults(run=record.run, output=DEFAULT_FILE)


def add_report(commands):
    parser = commands.add_parser("report", help="print the tables of a recording")
    parser.add_argument("-i", "--input", metavar="FILE", default=DEFAULT_FILE,
                        help=f"default {DEFAULT_FILE}")
    parser.add_argument("--sort", choices=report.TABLES, action="append",
                        help="only this table; default: all three")
    parser.set_defaults(run=report.run)


def add_flame(commands):
    parser = commands.add_parser("flame", help="draw where the CPU time goes, as SVG")
    add_target(parser)
    add_output(parser, "the picture")
    parser.add_argument("-i", "--input", metavar="FILE",
                        help="draw the output of perf script instead of a process")
    parser.set_defaults(run=flame.run)


def add_count(commands):
    parser = commands.add_parser(
        "count", help="count cycles, instructions and cache misses of a command")
    parser.set_defaults(run=count.run)


def parser_of():
    parser = Parser(
        prog="slab-perf",
        usage="slab-perf stat|record|flame [OPTION...] -p PID\n"
              "       slab-perf stat|record|flame|count [OPTION...] -- COMMAND [ARGUMENT...]\n"
              "       slab-perf report [-i FILE] [--sort cache|caller|cpu]",
        description="Show where a program that uses libslab leaves the fast paths. stat and "
                    "record need root and bpftrace, flame needs perf.",
        epilog="slab-perf COMMAND --help lists the options of a command; slab-perf(1).")
    commands = parser.add_subparsers(dest="name", metavar="COMMAND", required=True,
                                     prog="slab-perf", parser_class=Parser)
    for add in (add_stat, add_record, add_report, add_flame, add_count):
        add(commands)
    return parser


def check_target(options):
    """Exactly one of a process, a command and, where there is one, an input file."""
    if options.name == "report":
        if options.command:
            raise Misuse("report takes no command")
        return
    pid, given = getattr(options, "pid", None), getattr(options, "input", None)
    if sum(map(bool, (pid, given, options.command))) != 1:
        ways = {"count": "-- COMMAND", "flame": "-p PID, -- COMMAND or -i FILE"}
        raise Misuse(f"{options.name} takes {ways.get(options.name, '-p PID or -- COMMAND')}: "
                     "one of them")
    if options.name == "flame" and not options.output:
        raise Misuse("flame needs -o FILE, for the picture")


def parse(arguments):
    """The options; what follows "--" is options.command."""
    command = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1:]
    options = parser_of().parse_args(arguments)
    options.command = command
    check_target(options)
    return options


def main(arguments):
    try:
        options = parse(arguments)
        return options.run(options) or 0
    except (Failure, Misuse) as failure:
        print(f"slab-perf: {failure}", file=sys.stderr)
        return 1 if isinstance(failure, Failure) else 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
