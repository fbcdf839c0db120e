# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands between a call and its service is named."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.hops import (
    checked_access,
    login_remedy,
    proxy_for,
    token_remedy,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.json_values import Unreadable


@pytest.mark.parametrize(
    ("url", "proxies", "proxy"),
    [
        ("https://nova:8774/v2.1", {"https": "http://me:secret@proxy:3128"}, "proxy:3128"),
        ("https://nova:8774/v2.1", {"http": "http://proxy:3128"}, ""),
        ("https://nova:8774/v2.1", {"https": "http://other:1", "https://nova": "proxy"}, "proxy"),
        ("http://nova", {"all": "http://[2001:db8::1]:8080"}, "2001:db8::1:8080"),
        ("http://nova", {}, ""),
        ("http://[nova", {"http": "http://proxy"}, ""),
    ],
)
def test_the_proxy_of_a_call(url: str, proxies: dict[str, str], proxy: str) -> None:
    assert proxy_for(url, proxies) == proxy


def test_a_restricted_application_credential_is_no_bad_password():
    assert "access rules" in token_remedy("nova", "entry 'one'", "v3applicationcredential")
    assert "access rules" not in token_remedy("nova", "entry 'one'", "password")
    assert "has expired" in login_remedy(401, "v3applicationcredential")
    assert login_remedy(401, "password") == "correct its credentials, project and auth_url"
    assert "not lead to an identity service" in login_remedy(404, "password")


def access(**changed: object) -> SimpleNamespace:
    catalog = SimpleNamespace(get_endpoints_data=dict)
    values = {"auth_token": "t", "project_id": "p", "has_service_catalog": lambda: True, "service_catalog": catalog}
    return SimpleNamespace(**{**values, **changed})


def test_a_token_that_can_be_read():
    good = access()
    assert checked_access(good) is good


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"auth_token": None}, "X-Subject-Token is null"),
        ({"project_id": 7}, "project.id is the number 7"),
        ({"has_service_catalog": lambda: False}, "does not name a project"),
    ],
)
def test_a_token_that_cannot_be_used(changed: dict[str, object], words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        checked_access(access(**changed))
