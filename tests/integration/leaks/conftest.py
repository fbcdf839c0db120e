# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's world, and somebody who leaves things behind in its clouds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.integration.launcher.conftest import bank, site
from tests.support.fixtures_zookeeper import zookeeper
from tests.support.launcher_case import Site
from tests.support.leftovers import Leftovers

__all__ = ["bank", "leftovers", "site", "zookeeper"]


@pytest.fixture
def leftovers(site: Site) -> Iterator[Callable[..., Leftovers]]:
    """Makes somebody who works in a cloud of the site by the real SDK."""
    made: list[Leftovers] = []

    def make(name: str = "one") -> Leftovers:
        made.append(Leftovers(site, name))
        return made[-1]

    yield make
    for one in made:
        one.close()
