# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that runs a failed test again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

MOST = 10
"""Failed tests that get a command."""
VARIABLES = ("TEST_EFFORT",)
"""Environment variables that change which cases a test has."""


def rerun_lines(failed: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """Return a line with a shell command for each failed test, each test once, at most MOST.

    :param failed: node ids, relative to the root of the checkout.
    """
    settings = [f"{name}={shlex.quote(environment[name])}" for name in VARIABLES if environment.get(name)]
    return [
        f"run again: {' '.join([*settings, '.venv/bin/python -m pytest', shlex.quote(test)])}"
        for test in list(dict.fromkeys(failed))[:MOST]
    ]
