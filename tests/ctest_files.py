# SPDX-License-Identifier: MIT
"""The tests of a build, as CMake writes them down for ctest, whether their programs exist or not."""
import re
from typing import NamedTuple

TEST = re.compile(r'^add_test\(\[=\[(.+?)\]=\] (".*")\)\n'
                  r'set_tests_properties\(\[=\[\1\]=\] PROPERTIES +(.*)\)$', re.M)
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
PROPERTY = re.compile(r'(\w+) ' + WORD.pattern)


class Test(NamedTuple):
    name: str
    command: tuple
    properties: dict

    def listed(self, name):
        """A property that is a list."""
        return tuple(filter(None, self.properties.get(name, "").split(";")))


def tests_in(path):
    """The tests of one CTestTestfile.cmake, variants left out: those stand indented."""
    for name, command, properties in TEST.findall(path.read_text()):
        yield Test(name, tuple(WORD.findall(command)), dict(PROPERTY.findall(properties)))
