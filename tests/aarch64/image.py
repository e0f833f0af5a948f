# SPDX-License-Identifier: MIT
"""The file system of a machine that runs tests: an initramfs with programs, libraries and files.

Programs find what they were built to run where it is on this machine, so all is at the same path.
"""
import os
import shutil
import subprocess
from pathlib import Path

LOADER = "lib/ld-linux-aarch64.so.1"
LIBRARY_FOLDERS = ("usr/lib/aarch64-linux-gnu", "lib/aarch64-linux-gnu")
# Commands of busybox, and Debian's programs, which tests name by their paths.
COMMANDS = ("sh", "cat", "ls", "sleep", "true", "kill", "cp", "mkdir", "rm", "mktemp", "grep", "gzip",
            "sed", "head", "cmp", "env")
PROGRAMS = ("bin/bash", "usr/bin/setpriv", "usr/bin/tmux")
TERMINALS = "lib/terminfo"
DATA = ("tests", "docs/man", "docs/schema", "dirsrv/docs", "dirsrv/tests", "tools/metrics")


def put(root, path, to=None):
    """Copy a file, or what a link leads to."""
    target = root / str(to or path).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy2(path, target)


def is_elf(path):
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def put_build(root, build, programs):
    """These programs, what they may run (all programs but other tests) and the shared libraries,
    which they find by RPATH."""
    for folder in (build / "bin", build / "lib", build / "tests"):
        for path in folder.rglob("*"):
            other_test = path.name.endswith("_test") and str(path) not in programs
            if path.suffix not in (".a", ".o", ".gch") and not other_test and is_elf(path):
                put(root, path)


def put_system(root, sysroot):
    """The C library and the others of Debian, a shell and its commands."""
    put(root, sysroot / LOADER, LOADER)
    for folder in LIBRARY_FOLDERS:
        for path in (sysroot / folder).glob("*.so*"):
            if is_elf(path):
                put(root, path, Path(folder) / path.name)
    put(root, sysroot / "bin/busybox", "bin/busybox")
    for name in COMMANDS:
        (root / "bin" / name).symlink_to("busybox")
    for path in PROGRAMS:
        put(root, sysroot / path, path)
    (root / "usr/bin/env").symlink_to("/bin/busybox")
    shutil.copytree(sysroot / TERMINALS, root / TERMINALS, symlinks=True)
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")


def put_folders(root, source, folders):
    for folder in folders:
        for path in (source / folder).rglob("*"):
            if path.is_file():
                put(root, path)


def make(folder, build, sysroot, source, tests, programs):
    """An initramfs in the folder, whose first process runs the tests, lines of init.c; they are
    these programs."""
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "proc", "sys", "dev", "tmp", "run"):
        (root / name).mkdir(parents=True)
    subprocess.run(["aarch64-linux-gnu-gcc", "-static", "-O2", "-D_GNU_SOURCE", "-o", root / "init",
                    source / "tests/support/init.c"], check=True)
    put_system(root, sysroot)
    put_build(root, build, programs)
    put_folders(root, source, DATA)
    put_folders(root, build, ["pblock"])
    (root / "tests").write_text("".join(tests))
    archive = folder / "initramfs"
    with archive.open("wb") as file:
        names = subprocess.run(["find", "."], cwd=root, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=root, check=True, input=names,
                       stdout=file)
    shutil.rmtree(root)
    return archive


def size(path):
    return f"{os.path.getsize(path) >> 20} MiB"
