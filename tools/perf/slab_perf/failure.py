# SPDX-License-Identifier: MIT
"""What a command cannot do, as one sentence for the user."""


class Failure(Exception):
    """The command cannot do its work: exit status 1."""


class Misuse(Exception):
    """The caller asked for something that makes no sense: exit status 2."""
