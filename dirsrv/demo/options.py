#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Options of the demo. As a program it only checks them: ./run does so before the build."""
import argparse
import os
import re
import sys

EXIT_USAGE = 2
BUILD = os.path.relpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
DESCRIPTION = "A directory server on libslab (ldapd) under load, seen from outside while it runs."


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"demo: {message}; --help lists the options", file=sys.stderr)
        sys.exit(EXIT_USAGE)


def seconds(text):
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text) or not 0.2 <= float(text) <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0.2 to 3600")
    return float(text)


def readable(path):
    try:
        with open(path, "rb"):
            return path
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from error


def parse(arguments):
    parser = Parser(prog="./run demo", allow_abbrev=False, description=DESCRIPTION,
                    epilog="Exit status: 0 all well, 1 a failure, 2 a wrong option.")
    parser.add_argument("--ldif", metavar="FILE", type=readable,
                        help="load this file instead of the machine's package catalogue")
    parser.add_argument("--seconds", metavar="S", type=seconds, default=1.5,
                        help="length of each run of the load (default: 1.5)")
    parser.add_argument("--build", metavar="FOLDER", default=BUILD,
                        help="the programs are in FOLDER/bin (default: build)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parse(sys.argv[1:])
