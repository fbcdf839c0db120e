# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A login that keystone refuses because it does not find what the entry names, or because the entry lacks something."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError, CloudUnavailable


@pytest.mark.parametrize(
    ("status", "said", "remedy"),
    [
        (404, "Could not find project: ci.", "correct project_name or project_id"),
        (404, "Could not find user: zuul.", "correct username or user_id"),
        (400, "Expecting to find domain in project. The server could not comply", "add project_domain_name"),
    ],
)
def test_a_login_for_which_keystone_does_not_find_something_is_the_account_s(
    cloud, make_client, status, said, remedy
) -> None:
    title = {400: "Bad Request", 404: "Not Found"}[status]
    body = {"error": {"message": said, "code": status, "title": title}}
    cloud.on("POST", "/v3/auth/tokens", (status, body))
    with pytest.raises(CloudAuthError) as caught:
        make_client().list_servers()
    assert remedy in str(caught.value) and said.rstrip(".") in str(caught.value)
    assert "auth_url" not in str(caught.value)
    with pytest.raises(CloudAuthError):
        make_client().list_servers()


def test_a_user_who_needs_a_second_factor_is_told_what_to_use_instead(cloud, make_client) -> None:
    receipt = {"methods": ["password"], "expires_at": "2026-11-27T18:00:00.000000Z", "user": {"name": "ci"}}
    body = {"receipt": receipt, "required_auth_methods": [["password", "totp"]]}
    cloud.on("POST", "/v3/auth/tokens", (401, body, {"Openstack-Auth-Receipt": "gAAAA"}))
    client = make_client()
    for _unused in range(5):
        with pytest.raises(CloudAuthError, match=r"'totp'.*: its user must give more than one proof.*application"):
            client.list_servers()
    assert cloud.calls() == ["POST /v3/auth/tokens"]


def test_the_address_of_a_version_that_is_gone_is_told_with_the_one_that_is_there(
    cloud, make_client, clouds_yaml
) -> None:
    cloud.on("GET", "/v2.0", (404, "<html>nothing here</html>"))
    with pytest.raises(CloudUnavailable, match=r"it ends in /v2\.0, .* no longer have: end it in /v3: correct it"):
        make_client(clouds_yaml().replace("/v3", "/v2.0")).list_servers()
