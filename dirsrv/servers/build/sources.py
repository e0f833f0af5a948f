# SPDX-License-Identifier: MIT
"""The source of a server: Debian's source package, else a tag of the project's repository."""
import glob
import os
import shutil
import subprocess

from steps import Failure

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"


def release():
    with open("/etc/os-release", encoding="utf-8") as file:
        for line in file:
            if line.startswith("VERSION_CODENAME="):
                return line.strip().split("=")[1]
    raise Failure("/etc/os-release has no code name of a Debian release")


def apt_options(folder):
    """apt with lists of its own: the system's configuration stays as it is."""
    lists = os.path.join(folder, "lists")
    os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
    path = os.path.join(folder, "sources.list")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"deb-src [signed-by={KEYRING}] {MIRROR} {release()} main\n")
    return ["-q", "-o", f"Dir::Etc::sourcelist={path}", "-o", "Dir::Etc::sourceparts=-",
            "-o", f"Dir::State::lists={lists}", "-o", "APT::Sandbox::User=root"]


def quietly(command, folder):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False).returncode == 0


def apt_source(package, folder):
    """The files of a source package in folder; True if all of them came."""
    options = apt_options(folder)
    return (quietly(["apt-get", *options, "update"], folder)
            and quietly(["apt-get", *options, "--download-only", "source", package], folder))


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
    raise Failure(f"no source: apt-get source {server.package} from {MIRROR} failed, and so did "
                  f"git clone --branch {server.tag} {server.repository}; --source names a folder that has it")
