# SPDX-License-Identifier: MIT
"""Run the commands of a document, in its order, in one shell and in a folder of their own.

usage: commands.py SOURCE-FOLDER BUILD-FOLDER DOCUMENT
       commands.py SOURCE-FOLDER --list     what is not run, and why: the list has no wrong entry

Each command must end with status 0 (or the one that scenes.py names) and print its transcript,
if it has one that is compared. In a transcript numbers, sizes and addresses stand for any
others, "…" for any lines, and "…" at the end of a line for any rest. not_run.txt has the commands
that are not run.
"""
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import documents
from scenes import Scene, SCENES

LONGEST = 60  # seconds of one command; of one that looks, until it sees what it should
LOOKS = re.compile(r"(?:slabinfo|cat|head|tail|grep|sed|curl|ldapsearch)\b")
VARIES = [(re.compile(r"\|.*\|$"), "|"),                       # the text column of a dump
          (re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{2}\b"), "#"),  # addresses, bytes
          (re.compile(r"\d+(?:\.\d+)?(?:[KMG]iB)?"), "#"),
          (re.compile(r"\s+"), " ")]


def not_run(source):
    """The reason by (document, command)."""
    reasons = {}
    for line in Path(source, "tests/docs/not_run.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            document, command, reason = re.split(r"\t+", line)
            reasons[document, command] = reason
    return reasons


def plain(line):
    for pattern, text in VARIES:
        line = pattern.sub(text, line)
    return line.strip()


def same_line(wanted, got):
    if wanted.endswith("…"):
        return plain(got).startswith(plain(wanted[:-1]))
    return plain(wanted) == plain(got)


def same_output(wanted, got):
    """Do the lines match? "…" alone on a line stands for any number of lines."""
    if not wanted:
        return not got
    if wanted[0].strip() == "…":
        return any(same_output(wanted[1:], got[at:]) for at in range(len(got) + 1))
    return bool(got) and same_line(wanted[0], got[0]) and same_output(wanted[1:], got[1:])


class Shell:
    """A bash that runs one command after the other."""

    def __init__(self, folder, environment):
        self.status, end = os.pipe()
        self.out = folder / ".out"
        self.bash = subprocess.Popen(["bash"], stdin=subprocess.PIPE, cwd=folder, env=environment,
                                     text=True, pass_fds=[end], start_new_session=True)
        self.end = end

    def run(self, command):
        """Its status, None when it does not end, and what it printed. Each command has its own
        file, since a command in the background goes on to write to its file."""
        self.out.unlink(missing_ok=True)
        self.bash.stdin.write(f"{{ {command}\n}} >{self.out} 2>&1 </dev/null; echo $? >&{self.end}\n")
        self.bash.stdin.flush()
        if not select.select([self.status], [], [], LONGEST)[0]:
            return None, self.out.read_text()
        return int(os.read(self.status, 16)), self.out.read_text(errors="replace")

    def close(self):
        """The shell is the leader of its group, so that no command survives it."""
        os.killpg(self.bash.pid, signal.SIGTERM)
        self.bash.stdin.close()
        self.bash.wait()


def is_good(command, status, text, wanted):
    if command.output is not None:
        lines = [line for line in command.output if line]
        if not same_output(lines, [line for line in text.splitlines() if line.strip()]):
            return False
    return status == wanted


class CommandFailed(Exception):
    pass


def run_command(shell, scene, command):
    """A command that only looks waits for what it should see."""
    text = scene.as_run(command.text)
    end = time.monotonic() + LONGEST
    while True:
        status, output = shell.run(text)
        if is_good(command, status, output, scene.status.get(command.text, 0)):
            return
        if status is None or not LOOKS.match(text) or time.monotonic() > end:
            raise CommandFailed(f"{command.line}: {text}: status {status}\n{output}")
        time.sleep(0.2)


def make_sandbox(folder, source, build):
    """What a reader has: the source in libslab/ with its build, and pkg-config that finds it."""
    tree = folder / "libslab"
    tree.mkdir()
    for path in source.iterdir():
        if path.name != "build":
            (tree / path.name).symlink_to(path)
    (tree / "build").symlink_to(build)
    (folder / "build").symlink_to(build)
    (folder / "run").mkdir()
    (folder / "pkgconfig").mkdir()
    for library, flag in (("libslab", "-lslab"), ("libslab_dirsrv", "-lslab_dirsrv")):
        (folder / f"pkgconfig/{library}.pc").write_text(
            f"Name: {library}\nDescription: the build tree\nVersion: 0\n"
            f"Cflags: -I{source}/include -I{source}/dirsrv/include\n"
            f"Libs: -L{build}/lib {flag} -Wl,-rpath,{build}/lib\n")


def environment_of(folder, build):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("SLAB_")}
    environment.update(HOME=str(folder), SLAB_RUNTIME_DIR=str(folder / "run"), LC_ALL="C.UTF-8",
                       PATH=f"{build}/bin:{environment['PATH']}",
                       LD_LIBRARY_PATH=f"{build}/lib",
                       PKG_CONFIG_PATH=f"{folder}/pkgconfig")
    return environment


def run_document(source, build, document):
    scene, excluded = SCENES.get(document, Scene()), not_run(source)
    text = Path(source, document).read_text()
    folder = Path(tempfile.mkdtemp(prefix="slab-docs-"))
    make_sandbox(folder, source, build)
    for name, listing in documents.listings(text).items():
        (folder / name).write_text(listing)
    run = [command for command in documents.commands(text)
           if (document, command.text) not in excluded]
    shell = Shell(folder, environment_of(folder, build))
    try:
        for line in scene.before:
            run_command(shell, scene, documents.Command(line, 0))
        for command in run:
            run_command(shell, scene, command)
    except CommandFailed as failure:
        print(f"{document}:{failure}")
        return 1
    finally:
        shell.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{document}: {len(run)} commands run")
    return not run


def check_list(source, tested):
    """No stale entry, and no document with commands to run that is not a test."""
    excluded, wrong, seen = not_run(source), [], set()
    for document in documents.documents(source):
        texts = {command.text for command in documents.commands(Path(source, document).read_text())}
        seen |= {(document, text) for text in texts}
        left = [text for text in texts if (document, text) not in excluded]
        if left and document not in tested:
            wrong.append(f"{document}: neither a test nor not_run.txt has: {left[0]}")
    wrong += [f"not_run.txt: {document} has no command: {command}"
              for document, command in excluded.keys() - seen]
    usage = "\n".join(path.read_text() for path in sorted(source.glob("tools/run/*.sh")))
    for document, command in seen:
        word = re.match(r"\./run (\w+)", command)
        if word and f"\ncmd_{word[1]}()" not in usage:
            wrong.append(f"{document}: ./run has no command {word[1]}")
    print(*wrong, f"{len(seen)} commands, {len(excluded)} not run", sep="\n")
    return bool(wrong)


def main():
    source = Path(sys.argv[1]).resolve()
    if sys.argv[2] == "--list":
        return check_list(source, sys.argv[3:])
    return run_document(source, Path(sys.argv[2]).resolve(), sys.argv[3])


if __name__ == "__main__":
    sys.exit(main())
