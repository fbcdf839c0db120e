# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same site as the launcher's tests have, and a builder's host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.launcher.conftest import bank, site, zookeeper
from tests.support.image_case import Builder
from tests.support.launcher_case import Site

__all__ = ["bank", "site", "zookeeper"]


@pytest.fixture
def builder(site: Site) -> Iterator[Builder]:
    made = Builder(site)
    yield made
    made.close()
