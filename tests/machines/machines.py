# SPDX-License-Identifier: MIT
"""Machines that qemu makes up, for tests that need another kernel, other CPUs or other memory.

usage: machines.py [NAME...]    (./run machines, which installs and builds what this needs)

Each machine prints a row of a table, and what its tests wrote if one failed. What is downloaded and
the consoles lie in build/machines. Exit status: 0 all passed, 1 a test failed, 2 wrong usage.
"""
import argparse
import collections
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"
ENGINES = ("rseq", "cmpxchg16b", "mutex")
COMMANDS = ("sh", "cat", "echo", "mkdir", "mount", "grep", "sed")
LIBRARIES = ("libc6", "libstdc++6", "libgcc-s1")  # of the machine's suite, below /suite
SUITE = "/suite/lib/x86_64-linux-gnu:/suite/usr/lib/x86_64-linux-gnu"

# A machine: options of qemu, the kernel's command line, the suite of Debian that has the kernel,
# and its tests: a name, and a command of the shell.
Machine = collections.namedtuple("Machine", "what options kernel suite tests")


def each_engine(name, command):
    return {f"{name}.{engine}": f"SLAB_ENGINE={engine} {command}" for engine in ENGINES}


def tests(*names):
    return {key: command for name in names
            for key, command in each_engine(name, f"bin/{name}").items()}


def case(suite, variables=""):
    return each_engine(suite, f"{variables} bin/in_machine --gtest_filter={suite}.*")


def rseq_alone(*names):
    return {f"{name}.rseq": f"SLAB_ENGINE=rseq bin/{name}" for name in names}


def in_suite(*names):
    """Programs with the C library of the machine's suite, whose struct rseq is larger."""
    loader = "/suite/usr/lib64/ld-linux-x86-64.so.2"
    return {f"{name}.suite": f"SLAB_ENGINE=rseq {loader} --library-path {SUITE} bin/{name}"
            for name in names}


def phases(name, limit="", variables=""):
    return {f"phases.{name}": f"{variables} bin/phases.sh {name} {limit}"}


def settings(commands, of):
    return {name: f"{commands}; {command}" for name, command in of.items()}


HUGE = ("cd /sys/kernel/mm/transparent_hugepage; echo always >enabled; cd khugepaged; "
        "echo 511 >max_ptes_none; echo 10 >scan_sleep_millisecs; echo 100000 >pages_to_scan; cd /")
MACHINES = {
    # QEMU's emulator can start as many CPUs as a machine may have, so each engine has one.
    **{f"cpus.{engine}": Machine("CPUs 2 to 7 added, on- and offline, removed under 8 threads",
                                 ["-smp", "2,maxcpus=8"], "", "bookworm", {name: command})
       for engine, (name, command) in zip(ENGINES, case("CpusTest", "SLAB_DECAY_MS=200").items())},
    "huge": Machine("huge pages always, max_ptes_none=511", ["-smp", "2"], "", "trixie",
                    settings(HUGE, case("HugePagesTest"))),
    "commit": Machine("overcommit_memory=2", ["-smp", "2"], "", "trixie",
                      settings("echo 2 >/proc/sys/vm/overcommit_memory",
                               {**case("CommitTest"), **tests("limit_test", "purge_test")})),
    "groups": Machine("`memory.max` and `memory.high` of cgroup v2, load of 68 MB",
                      ["-smp", "2"], "", "trixie",
                      {**phases("none"), **phases("max", "memory.max=110M"),
                       **phases("soft", "memory.max=90M", "SLAB_SOFT_LIMIT=80%"),
                       **phases("high", "memory.high=76M")}),
    "rseq": Machine("strict rseq (`rseq_debug=1`), with glibc 2.36 and 2.41", ["-smp", "2"],
                    "rseq_debug=1", "trixie-backports",
                    {**rseq_alone("engine_test", "engine_abort_test", "engine_stress_test",
                                  "cpu_ids_test"),
                     **in_suite("engine_test", "engine_abort_test", "engine_stress_test"),
                     "soak": "bin/slab-soak --engine rseq --threads 8 --seconds 30"}),
    "nodes": Machine("two NUMA nodes",
                     ["-smp", "2", "-object", "memory-backend-ram,id=m0,size=768M",
                      "-object", "memory-backend-ram,id=m1,size=256M",
                      "-numa", "node,nodeid=0,cpus=0,memdev=m0",
                      "-numa", "node,nodeid=1,cpus=1,memdev=m1"],
                     "", "bookworm", {**tests("node_test", "defrag_test"), **case("FullNodeTest")}),
}


def put(root, path, to):
    target = root / to
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target)


def put_program(root, path, to):
    """A program or library, and the libraries that it needs, where the loader looks for them."""
    put(root, path, to)
    needed = subprocess.run(["ldd", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    for library in re.findall(r"(/\S+) \(", needed):
        put(root, library, library.lstrip("/"))


def make_image(machine, downloads, archive):
    """An initramfs whose first process runs the machine's tests."""
    commands = machine.tests.values()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        put(root, BUILD / "bin/machine_init", "init")
        put(root, shutil.which("busybox"), "bin/busybox")
        for name in COMMANDS:
            (root / "bin" / name).symlink_to("busybox")
        for path in {"lib/libslab_malloc.so", "bin/memory-malloc",
                     *re.findall(r"\bbin/[\w.-]+", " ".join(commands))}:
            own = HERE / Path(path).name
            put(root, own, path) if own.exists() else put_program(root, BUILD / path, path)
        if any("/suite/" in command for command in commands):
            shutil.copytree(downloads / "root", root / "suite", symlinks=True,
                            ignore=shutil.ignore_patterns("boot", "share", "modules", "gconv"))
        (root / "tests").write_text("".join(f"{name}\t900\t/bin/sh\t-c\t{command}\n"
                                            for name, command in machine.tests.items()))
        names = subprocess.run(["find", "."], cwd=root, check=True, stdout=subprocess.PIPE).stdout
        with archive.open("wb") as file:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=root, check=True,
                           input=names, stdout=file)


class Monitor:
    """What qemu's monitor does: CPUs come and go."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r")
        self.lines.readline()  # its greeting
        self.ask("qmp_capabilities")

    def ask(self, what, **arguments):
        self.socket.sendall(json.dumps({"execute": what, "arguments": arguments}).encode())
        while True:
            answer = json.loads(self.lines.readline())
            if "error" in answer:
                raise RuntimeError(f"{what} {arguments}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def obey(self, what, cpu):
        if what == "remove":
            self.ask("device_del", id=f"cpu{cpu}")
            return
        place = next(slot for slot in self.ask("query-hotpluggable-cpus")
                     if slot["props"]["core-id"] == cpu)
        self.ask("device_add", driver=place["type"], id=f"cpu{cpu}", **place["props"])


def run(name, machine, folder):
    """The machine's kernel, the ends of its tests, and the rows and all that they wrote."""
    downloads = folder / machine.suite
    call = subprocess.run([HERE / "kernel.sh", downloads, machine.suite, "amd64", *LIBRARIES],
                          check=True, stdout=subprocess.PIPE, text=True)
    kernel = Path(call.stdout.strip())
    archive, monitor = folder / f"{name}.initramfs", str(folder / f"{name}.monitor")
    make_image(machine, downloads, archive)
    command = ["nice", "qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max",
               "-m", "1024", *machine.options, "-nographic", "-no-reboot", "-nic", "none",
               "-serial", "stdio", "-monitor", "none",
               "-qmp", f"unix:{monitor},server=on,wait=off", "-kernel", kernel, "-initrd", archive,
               "-append", "console=ttyS0 quiet panic=-1 no_timer_check random.trust_cpu=on"
               f" SLAB_STRESS_SECONDS=1 SLAB_TEST_SLOWER=8 {machine.kernel}"]
    wrote = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as qemu, \
            (folder / f"{name}.console").open("w") as console:
        hands = None
        for line in qemu.stdout:
            console.write(line)
            console.flush()
            wrote.append(line.rstrip())
            wish = re.search(r"machine: (add|remove) (\d+)", line)
            if wish:
                hands = hands or Monitor(monitor)
                hands.obey(wish[1], int(wish[2]))
    archive.unlink()
    if kernel.name == "vmlinuz":
        return kernel.parent.name, wrote
    return kernel.name.replace("vmlinuz-", ""), wrote


def show(name, machine, kernel, wrote):
    """The row of the table. Whether all passed."""
    ends = dict(found.groups() for line in wrote
                if (found := re.match(r"init: (\S+): (.+), \d+ s$", line)))
    bad = [f"{test}: {ends.get(test, 'did not end')}" for test in machine.tests
           if ends.get(test) != "passed"]
    if bad:
        print("\n".join(wrote[-200:]))
    rows = [line[5:] for line in wrote if line.startswith("row: ")]
    result = "; ".join(bad or [f"{len(ends)} passed", *rows])
    print(f"| `{name}` | {machine.what} | {kernel} | {result} |", flush=True)
    return not bad


def main():
    parser = argparse.ArgumentParser(prog="./run machines", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MACHINES)}")
    names = parser.parse_args().names or list(MACHINES)
    for name in names:
        if name not in MACHINES:
            parser.error(f"there is no machine '{name}'; there are: {', '.join(MACHINES)}")
    folder = BUILD / "machines"
    folder.mkdir(exist_ok=True)
    passed = [show(name, MACHINES[name], *run(name, MACHINES[name], folder)) for name in names]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
