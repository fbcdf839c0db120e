# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a quick start."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.wish import QuickstartWish
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError


def servers(text: str) -> object:
    return QuickstartWish(cloud="c", folder="/f", zookeeper=text).servers()


def test_servers_are_read_as_zookeeper_writes_them() -> None:
    assert servers("zk01") == ((("zk01", 2181),), "")
    assert servers("a:1,b:2/ci/x") == ((("a", 1), ("b", 2)), "/ci/x")
    assert servers("[2001:db8::1]:2182/") == ((("2001:db8::1", 2182),), "")


@pytest.mark.parametrize("text", ["a:b", "a:0", "a:99999", "a,,b", "a b", "https://a"])
def test_what_is_no_server_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="give HOST:PORT"):
        servers(text)
