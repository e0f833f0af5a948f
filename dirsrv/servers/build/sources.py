# SPDX-License-Identifier: MIT
"""The source of a server: Debian's source package, else a tag of the project's repository."""
import glob
import os
import re
import shutil
import subprocess

from steps import Failure


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


def get(server, target, tag=None):
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
