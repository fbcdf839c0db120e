# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of clouds and of ZooKeeper are data for each ansible-core."""

from __future__ import annotations

import pytest
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.stackci.nodepool.plugins.plugin_utils import untrusted as room

ROWS = [{"comment": "{{ lookup('pipe', 'id') }}", "addresses": [{"address": "192.0.2.1"}]}]


def test_a_core_that_evaluates_only_trusted_texts_needs_nothing():
    assert room.untrusted(ROWS) is ROWS


def test_an_older_core_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(room, "trust_as_template", None)
    monkeypatch.setattr(room, "wrap_var", lambda value: ("wrapped", wrap_var(value)))
    assert room.untrusted(ROWS) == ("wrapped", ROWS)
