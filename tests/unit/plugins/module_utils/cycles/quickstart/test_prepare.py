# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the wish is told before anything is made, and what is made was noted before."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.login_key import LoginKey
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart import prepare as preparing
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.folder_notes import Notes
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


def test_a_key_is_noted_before_it_is_made_and_made_again_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish = QuickstartWish(cloud="east", folder=str(tmp_path / "quickstart"), zookeeper="127.0.0.1:1")
    private = tmp_path / "quickstart" / "id_ed25519"
    monkeypatch.setattr(preparing, "check_needs", lambda: None)
    monkeypatch.setattr(preparing, "decide", lambda *_words, **_more: None)
    monkeypatch.setattr(preparing, "usable_own_key", lambda _home: None)

    def interrupted(_folder: str) -> None:
        private.write_text("half of a pair", encoding="utf-8")
        raise KeyboardInterrupt

    with monkeypatch.context() as first:
        first.setattr(preparing, "made_key", interrupted)
        with pytest.raises(KeyboardInterrupt):
            preparing.prepare(wish)
    assert Notes.read(wish.folder).private_key == str(private)

    given: list[str] = []

    def give(_wish: QuickstartWish, _notes: Notes, key: LoginKey, _say: object) -> None:
        given.append(key.public_text)
        raise KeyboardInterrupt

    monkeypatch.setattr(preparing, "_give_key", give)
    with pytest.raises(KeyboardInterrupt):
        preparing.prepare(wish)
    assert given == [private.with_suffix(".pub").read_text("ascii").strip()]
