# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/health tells that the process answers."""

from __future__ import annotations

from tests.support.web_case import WebCase


def test_health_is_the_process_alone():
    case = WebCase({})
    case.lose()
    answer = case.get("/health")
    assert (answer.status_code, answer.text, answer.mimetype) == (200, "OK\n", "text/plain")
