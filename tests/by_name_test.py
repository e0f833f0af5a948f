# SPDX-License-Identifier: MIT
"""Where ./run test NAME looks for cases."""
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
import by_name


class ProgramSources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        patch = mock.patch.object(by_name, "BUILD", self.build)
        patch.start()
        self.addCleanup(patch.stop)

    def compiled(self, file):
        """The sources of the program a_test when this file is compiled for it."""
        command = f"c++ -o tests/CMakeFiles/a_test.dir/{Path(file).name}.o -c {file}"
        entry = {"directory": str(self.build), "file": str(file), "command": command}
        (self.build / "compile_commands.json").write_text(json.dumps([entry]))
        return by_name.program_sources()

    def test_a_source_is_its_program_s(self):
        self.assertEqual(self.compiled("/tests/a_test.cc"), {"a_test": [Path("/tests/a_test.cc")]})

    def test_every_source_of_a_unity_build_is(self):
        unity = self.build / "tests/CMakeFiles/a_test.dir/Unity/unity_0_cxx.cxx"
        unity.parent.mkdir(parents=True)
        unity.write_text('/* by CMake */\n\n#include "/tests/a_test.cc"\n\n#include "/tests/b_test.cc"\n')
        self.assertEqual(self.compiled(unity),
                         {"a_test": [Path("/tests/a_test.cc"), Path("/tests/b_test.cc")]})


if __name__ == "__main__":
    unittest.main()
