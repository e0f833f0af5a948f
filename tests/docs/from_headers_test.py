# SPDX-License-Identifier: MIT
"""Section 3 of the manual: what becomes of a header's comments, and which comments are refused.

usage: from_headers_test.py from_headers.py
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADER = """/* SPDX-License-Identifier: MIT */
/*
 * Boxes: things with a lid.
 */

/* How slab_open() opens. */
enum slab_force {
	SLAB_GENTLE, /* with a key */
};

/*
 * slab_open: open a box
 * with slab_key().
 *
 * @force  how
 *         it opens
 *
 * Two boxes:
 *	slab_open(a);
 *
 * Returns 0, or
 *   -EBUSY  it is open
 * MT-safe, fork-safe.
 */
SLAB_API int slab_open(enum slab_force force);

/* slab_key, slab_lock: `x` of a *box*. MT-safe, fork-safe. */
SLAB_API void *slab_key(int (*fn)(int x, void *arg), void *arg);
SLAB_API void slab_lock(void);
"""


def convert(text):
    """Exit status, errors, and the pages by name."""
    with tempfile.TemporaryDirectory() as folder:
        header, pages = Path(folder, "include/slab/box.h"), Path(folder, "man3")
        header.parent.mkdir(parents=True)
        header.write_text(text)
        run = subprocess.run([sys.executable, SCRIPT, pages, header.parent.parent], capture_output=True, text=True)
        found = {page.name: page.read_text() for page in pages.iterdir()} if pages.exists() else {}
        return run.returncode, run.stderr, found


class FromHeaders(unittest.TestCase):
    def page(self, name):
        status, errors, pages = convert(HEADER)
        self.assertEqual((status, errors), (0, ""))
        return pages[name]

    def test_a_function_has_a_page_with_sections(self):
        text = self.page("slab_open.3")
        for part in (".Nd open a box with slab_key()\n",
                     '.In slab/box.h\n.Ft int\n.Fo slab_open\n.Fa "enum slab_force force"\n',
                     ".Sh DESCRIPTION\nOpen a box with\n.Xr slab_key 3 .\n", '.It Fa "force"\nhow it opens\n',
                     ".Bd -literal -offset indent\nslab_open(a);\n.Ed\n",
                     ".Sh RETURN VALUES\nReturns 0, or \\-errno, as below.\n",
                     '.It No "\\-EBUSY"\nit is open\n', ".Sh SAFETY\nMT-safe, fork-safe.\n"):
            self.assertIn(part, text)

    def test_a_page_has_the_types_of_its_arguments(self):
        self.assertIn(".Ss enum slab_force\n", self.page("slab_open.3"))
        self.assertIn('.It Li "SLAB_GENTLE"\nwith a key\n', self.page("slab_open.3"))

    def test_functions_of_one_comment_share_a_page(self):
        self.assertEqual(self.page("slab_lock.3"), self.page("slab_key.3"))
        self.assertIn(".Nm slab_key ,\n.Nm slab_lock\n", self.page("slab_key.3"))

    def test_marks_of_words(self):
        self.assertIn('.Fa "x"\nof a\n.Em "box" .\n', self.page("slab_key.3"))

    def test_a_header_has_a_page_that_lists_its_functions(self):
        self.assertIn(".It Xr slab_key 3 , Xr slab_lock 3\n", self.page("slab_box.h.3"))

    def test_a_function_without_a_comment_is_refused(self):
        status, errors, _ = convert(HEADER + "\nSLAB_API void slab_close(void);\n")
        self.assertEqual((status, errors), (1, "slab/box.h: no comment directly before slab_close()\n"))

    def test_a_comment_of_another_function_is_refused(self):
        status, errors, _ = convert(HEADER.replace("slab_open: ", "slab_shut: "))
        self.assertEqual((status, errors), (1, "slab/box.h: slab_shut: followed by slab_open\n"))


if __name__ == "__main__":
    SCRIPT = Path(sys.argv.pop()).resolve()
    unittest.main()
