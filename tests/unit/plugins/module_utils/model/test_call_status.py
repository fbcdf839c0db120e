# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which calls count as failed."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.call_status import has_failed


@pytest.mark.parametrize(("status", "failed"), [
    ("200", False), ("202", False), ("404", False), ("403", False), ("409", False), ("500", True), ("503", True),
    ("timeout", True), ("no-connection", True), ("tls", True), ("reset", True), ("damaged", True), ("error", True),
    ("queue-timeout", False), ("²00", True), ("", True),
])  # fmt: skip
def test_a_refusal_is_an_answer_and_silence_is_not(status, failed):
    assert has_failed(status) is failed
