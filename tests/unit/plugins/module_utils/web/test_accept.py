# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which form an Accept header asks for; the rules of Nodepool are compared in test_nodepool_endpoints."""

from __future__ import annotations

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from ansible_collections.stackci.nodepool.plugins.module_utils.web.accept import wants_json


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (None, False),
        ("", False),
        ("*/*", False),
        ("application/json", True),
        ("application/json, */*;q=0.1", True),
        ("application/json, text/plain", False),
        ("application/json;q=0", None),
        ("image/png", None),
        ("nonsense", None),
    ],
)
def test_json_only_where_it_ranks_first(accept, wanted):
    headers = [] if accept is None else [("Accept", accept)]
    assert wants_json(Request(EnvironBuilder(headers=headers).get_environ())) is wanted
