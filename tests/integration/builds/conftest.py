# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chroot and a disk for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.builder_case import BuilderSite
from tests.support.zookeeper_server import ZooKeeperServer


@pytest.fixture
def site(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[BuilderSite]:
    made = BuilderSite(tmp_path, zookeeper)
    yield made
    made.close()
