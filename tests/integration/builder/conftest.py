# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site with two clouds, and a builder's host."""

from __future__ import annotations

import pytest

from tests.support.builder_playbooks import BuilderHost
from tests.support.launcher_case import Site


@pytest.fixture
def host(site: Site) -> BuilderHost:
    """Cloud ``one`` takes qcow2, cloud ``two`` takes raw."""
    made = BuilderHost(site)
    made.cloud("one", "qcow2")
    made.cloud("two", "raw")
    return made
