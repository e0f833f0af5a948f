# SPDX-License-Identifier: MIT
"""Tables of text: columns as wide as their contents, numbers right-aligned, zeros as '-'."""


def text_of(value):
    if value is None or (not isinstance(value, str) and not value):
        return "-"
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value)


def lines(head, rows):
    """The lines of a table. Strings are left-aligned, unless they are numbers with commas."""
    cells = [[text_of(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in [head] + cells) for i in range(len(head))]
    is_text = [any(isinstance(row[i], str) and not row[i][:1].isdigit() for row in rows)
               or i == 0 for i in range(len(head))]

    def line(row):
        return " ".join(cell.ljust(width) if left else cell.rjust(width)
                        for cell, width, left in zip(row, widths, is_text)).rstrip()

    return [line(head)] + [line(row) for row in cells]


def show(head, rows):
    print("\n".join(lines(head, rows)))
