# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the wish itself is told before the cloud is asked and before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart import prepare as preparing
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.wish import QuickstartWish
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError


def test_a_key_that_cannot_be_used_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "check_needs", lambda: None)
    folder, key = tmp_path / "quickstart", tmp_path / "key.pub"
    wish = QuickstartWish(
        cloud="east", folder=str(folder), zookeeper="127.0.0.1:1", public_key=str(key), clouds_config="/nowhere"
    )
    with pytest.raises(ConfigError, match=f"{key}: the public key cannot be read"):
        preparing.prepare(wish)
    assert not folder.exists()
