# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for the workers of the simulations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.collected import pytest_collection_finish
from tests.support.own_reads import only_own_reads

__all__ = ["pytest_collection_finish"]


@pytest.fixture(autouse=True)
def _own_reads() -> Iterator[None]:
    with only_own_reads():
        yield
