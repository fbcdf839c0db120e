# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder is the user's own."""

from __future__ import annotations

import os

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.state_folder import default_folder


def test_the_default_is_private_to_the_user(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    monkeypatch.delenv("NODEPOOL_STATE_DIR", raising=False)
    monkeypatch.delenv("TMPDIR", raising=False)
    assert default_folder() == "/tmp/stackci-nodepool-54321"
    monkeypatch.setenv("TMPDIR", "/scratch")
    assert default_folder() == "/scratch/stackci-nodepool-54321"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_folder() == "/run/stackci-nodepool"


def test_the_environment_may_name_another_one(monkeypatch):
    monkeypatch.setenv("NODEPOOL_STATE_DIR", "/srv/state")
    assert default_folder() == "/srv/state"
    monkeypatch.setenv("NODEPOOL_STATE_DIR", "")
    assert default_folder() != ""
