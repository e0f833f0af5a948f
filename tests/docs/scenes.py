# SPDX-License-Identifier: MIT
"""What the commands of a document need beside them: commands that run before the first one, what
stands in the document for something else (a process id, an endless command), and the exit
status of commands that are meant to fail."""


class Scene:
    def __init__(self, before=(), replace=(), status=None):
        self.before, self.replace, self.status = before, replace, status or {}

    def as_run(self, command):
        for text, other in self.replace:
            command = command.replace(text, other)
        return command


DIRECTORY = "directory --seconds 900 --entries 2000 >log 2>&1 & server=$!"
# Until its workers work.
WORKS = "slabinfo -z pblock_ | grep -q '^pblock_update  *[1-9]'"
# A program that knows nothing of libslab, in the place of the reader's, with 20 MB, of which a heap
# profile at 512 KiB takes samples for certain.
OTHER = "python3 -c 'import time; kept = [bytes(1000) for _ in range(20000)]; time.sleep(600)'"

SCENES = {
    "README.md": Scene(
        replace=[("./program", "python3 -c 'list(range(100000))'"), ("./server", OTHER),
                 ("slabinfo --pid $!", "until slabinfo --pid $!; do sleep 0.1; done")]),
    "docs/slabinfo.md": Scene(
        before=[DIRECTORY, WORKS],
        replace=[("--top", "--top=0.1 -N 1 | head -n 3"),
                 ("--interval=60", "--interval=0.1 -N 2"),
                 ("slabinfo --find-leaks core.28331",
                  "gcore -o core $server >/dev/null 2>&1 && { slabinfo --find-leaks core.$server || [ $? = 1 ]; }"),
                 ("core.27963", "core.$server"), ("core.28331", "core.$server"), ("28331", "$server"), ("request", "db.entry"),
                 ("core.$server entry", "core.$server db.entry"),
                 ("slab-exporter", "slab-exporter --listen 127.0.0.1:19716"),
                 ("127.0.0.1:9716/", "127.0.0.1:19716/")]),
    "docs/hunting-corruption.md": Scene(
        status={"SLAB_SYMBOLS=on corruption overflow --sample 1": 139}),
    "docs/profiling.md": Scene(replace=[("./server", OTHER)]),
    "docs/control.md": Scene(
        before=[DIRECTORY, WORKS],
        replace=[("/run/slab/4711.sock", "run/slab/$server.sock")]),
}
