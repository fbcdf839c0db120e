# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of a builder in a site."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.image_case import Builder
from tests.support.launcher_case import Site


@pytest.fixture
def builder(site: Site) -> Iterator[Builder]:
    made = Builder(site)
    yield made
    made.close()
