# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody who leaves things behind in the clouds of a site."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.launcher_case import Site
from tests.support.leftovers import Leftovers


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
