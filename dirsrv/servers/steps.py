# SPDX-License-Identifier: MIT
"""Steps with their programs, logs and times, the source, and the user who is not root where servers run."""
import glob
import os
import pwd
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Failure(Exception):
    """One sentence that says why the program cannot go on."""


def say(text):
    print(f"== {text}", flush=True)


def last_line(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1] if lines else "no output"


def reason(path):
    """The last line of a log that speaks of an error, else the last one: make ends other jobs after it."""
    with open(path, encoding="utf-8", errors="replace") as file:
        errors = [line.strip() for line in file if re.search(r"\berror\b|\*\*\*", line, re.IGNORECASE)]
    return errors[-1] if errors else last_line(path)


class Steps:
    """Prints each step with an estimate, and how long it took. A step that is done leaves a file
    that the next run finds.
    """

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def once(self, name, seconds, action):
        mark = self.path(f".{name.replace(' ', '-')}")
        if os.path.exists(mark):
            return
        say(f"{name}: about {seconds} s of CPU time")
        begin = time.monotonic()
        action()
        print(f"   {time.monotonic() - begin:.0f} s", flush=True)
        with open(mark, "w", encoding="utf-8"):
            pass

    def run(self, command, log, folder=None, **environment):
        """A program that must succeed; its output goes to a log."""
        path = self.path(log)
        with open(path, "ab") as file:
            done = subprocess.run(command, cwd=folder or self.folder, stdin=subprocess.DEVNULL,
                                  stdout=file, stderr=file, check=False,
                                  env=dict(os.environ, **environment))
        if done.returncode != 0:
            raise Failure(f"{os.path.basename(command[0])} failed: {reason(path)} (all of it: {path})")


def system_lists():
    """The files from which apt takes the machine's packages."""
    shown = subprocess.run(["apt-config", "shell", "list", "Dir::Etc::sourcelist/f", "parts", "Dir::Etc::sourceparts/d"],
                           capture_output=True, text=True, check=True).stdout
    place = dict(re.findall(r"(\w+)='(.*)'", shown))
    files = [place["list"], *glob.glob(place["parts"] + "*.list"), *glob.glob(place["parts"] + "*.sources")]
    return [file for file in files if os.path.isfile(file)]


def with_sources(text):
    """What a list says of binary packages, said of their sources."""
    return re.sub(r"^(deb|Types:.*\bdeb)(?=\s)(?!-src)", lambda found: found[0] + "-src", text, flags=re.MULTILINE)


def apt_options(folder):
    """apt with lists of its own: the system's configuration stays as it is."""
    lists, parts = os.path.join(folder, "lists"), os.path.join(folder, "parts")
    os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
    os.makedirs(parts, exist_ok=True)
    for file in system_lists():
        with open(file, encoding="utf-8") as system, \
                open(os.path.join(parts, os.path.basename(file)), "w", encoding="utf-8") as ours:
            ours.write(with_sources(system.read()))
    return ["-q", "-o", "Dir::Etc::sourcelist=-", "-o", f"Dir::Etc::sourceparts={parts}",
            "-o", f"Dir::State::lists={lists}", "-o", "APT::Sandbox::User=root"]


def quietly(command, folder):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False).returncode == 0


def apt_source(package, folder):
    """The files of a source package in folder; True if all of them came."""
    options = apt_options(folder)
    quietly(["apt-get", *options, "update"], folder)  # fails, too, where one of the archives has no sources
    return quietly(["apt-get", *options, "--download-only", "source", package], folder)


def debianize(folder, target):
    """Debian's patches on the project's own source, if they came without Debian's archive of it."""
    archives = glob.glob(os.path.join(folder, "*.debian.tar.*"))
    if not archives or os.path.exists(os.path.join(target, "debian")):
        return
    quietly(["tar", "-xf", archives[0], "-C", target], folder)
    with open(os.path.join(target, "debian", "patches", "series"), encoding="utf-8") as file:
        for name in file.read().split():
            if not quietly(["patch", "-p1", "-s", "-i", os.path.join("debian", "patches", name)], target):
                raise Failure(f"Debian's patch {name} does not apply to {target}")


def clone(server, tag, target, folder):
    return quietly(["git", "clone", "-q", "--depth", "1", "--branch", tag, server.repository, target], folder)


def get_source(server, target, tag=None):
    """The source in `target`: of a tag, or Debian's. server: package, tag, repository."""
    folder = target + ".download"
    os.makedirs(folder, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    if tag:
        if not clone(server, tag, target, folder):
            raise Failure(f"no source: git clone --branch {tag} {server.repository} failed; --source names "
                          "a folder that has it")
        return
    if apt_source(server.package, folder):
        description = glob.glob(os.path.join(folder, "*.dsc"))[0]
        if quietly(["dpkg-source", "-x", description, target], folder):
            return
    shutil.rmtree(target, ignore_errors=True)
    if clone(server, server.tag, target, folder):
        debianize(folder, target)
        return
    raise Failure(f"no source: apt-get source {server.package} failed, and so did "
                  f"git clone --branch {server.tag} {server.repository}; --source names a folder that has it")


def user():
    """Who the servers run as: root gives its rights up, everybody else stays who they are."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    return pwd.getpwnam("nobody")


def give_to_user(folder):
    """A folder of the server's data, and all in it."""
    if os.geteuid() != 0:
        return
    owner = user()
    for place, _folders, files in os.walk(folder):
        for name in [".", *files]:
            os.lchown(os.path.join(place, name), owner.pw_uid, owner.pw_gid)


def as_user():
    """Arguments of subprocess.Popen()."""
    if os.geteuid() != 0:
        return {}
    owner = user()
    return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def die(text):
    sys.exit(f"run server: {text}")
