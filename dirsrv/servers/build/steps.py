# SPDX-License-Identifier: MIT
"""Steps with their programs, logs and times, as a user who is not root where servers run."""
import os
import pwd
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


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
