# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the workers of the unit tests run."""

from __future__ import annotations

import gc
import os
import re

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Keep each worker on one core.

    The threads of a virtual world take turns, thousands of times in a second: handed over within one core that costs a
    quarter less than from core to core.
    """
    number = re.search(r"[0-9]+$", os.environ.get("PYTEST_XDIST_WORKER", ""))
    cores = sorted(os.sched_getaffinity(0))
    if number and int(os.environ["PYTEST_XDIST_WORKER_COUNT"]) <= len(cores):
        os.sched_setaffinity(0, {cores[int(number[0]) % len(cores)]})


def pytest_collection_finish() -> None:
    """Keep the collector of garbage away from the thousands of collected tests, which live until the end.

    Each of its full rounds would visit all of them: a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
