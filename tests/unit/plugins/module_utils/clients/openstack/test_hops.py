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
    assert login_remedy(401, "password").startswith("correct its credentials (username, password, user_domain_name)")
    assert "not lead to an identity service" in login_remedy(404, "password")


@pytest.mark.parametrize(
    ("status", "auth_type", "said", "remedy"),
    [
        (404, "password", "Could not find project: ci.", "project_name or project_id"),
        (404, "password", "Could not find domain: corp.", "user_domain_name"),
        (404, "password", "Could not find user: zuul.", "username or user_id"),
        (404, "password", "Could not find role: member.", "has no role"),
        (404, "password", "Could not find trust: 7.", "trust_id"),
        (404, "v3oidcpassword", "Could not find Identity Provider: idp.", "identity_provider"),
        (404, "v3token", "Could not find token: 7.", "has expired"),
        (404, "v3applicationcredential", "Could not find Application Credential: 7.", "create a new one"),
        (
            401,
            "v3applicationcredential",
            "",
            "application_credential_id and application_credential_secret of the entry",
        ),
        (
            401,
            "password",
            "The password is expired and needs to be changed for user: 5.",
            "openstack user password set",
        ),
        (401, "password", "The account is locked for user: 5.", "wait until keystone lets the user in again"),
        (401, "password", "The account is disabled for user: 5.", "enable the user"),
        (401, "password", "Could not find project: ci. (Disable insecure_debug mode …)", "project_name or project_id"),
        (401, "v3applicationcredential", "Could not find user: zuul", "username or user_id"),
        (400, "password", "Expecting to find domain in project. The server could not comply", "project_domain_name"),
        (400, "password", "Expecting to find domain in user. The server could not comply", "user_domain_name"),
        (400, "password", "Expecting to find password in user. The server could not comply", "no password of its user"),
        (400, "password", "Bad Request", "correct its credentials"),
        (404, "password", "The resource could not be found.", "not lead to an identity service"),
        (404, "v3applicationcredential", "nginx", "not lead to an identity service"),
        (403, "password", "Forbidden", "correct its credentials"),
    ],
)
def test_what_keystone_names_is_what_is_to_be_corrected(status: int, auth_type: str, said: str, remedy: str) -> None:
    told = login_remedy(status, auth_type, said)
    assert remedy in told
    assert ("auth_url" in told) == (remedy in ("not lead to an identity service", "correct its credentials"))


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
