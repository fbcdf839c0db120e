# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Neither token nor password goes where a redirect says, unless that is the same host."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.transport import (
    Redirected,
    _check_redirect,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import ServerSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable

STATUSES = (301, 302, 303, 305, 307, 308)


def to(where: str, status: int = 307) -> tuple[int, str, dict[str, str]]:
    """A redirect."""
    return status, "", {"Location": where}


@pytest.mark.parametrize("status", STATUSES)
def test_a_token_does_not_follow_a_redirect_to_another_host(cloud, make_client, status):
    cloud.on("GET", "/v2.1/flavors/detail", to("http://evil.invalid/v2.1/flavors/detail", status))
    with pytest.raises(CloudUnavailable) as caught:
        make_client().list_flavors()
    assert {seen.host for seen in cloud.seen} == {"keystone.invalid", "nova.invalid"}
    assert "http://nova.invalid" in str(caught.value)
    assert "http://evil.invalid, which is another host" in str(caught.value)
    assert "token-1" not in str(caught.value)
    assert caught.value.status == status, "there was an answer, and the next one will most likely be the same"


def test_neither_does_a_create_which_then_has_certainly_not_been_done(cloud, make_client):
    cloud.on("POST", "/v2.1/servers", to("//evil.invalid/"))
    with pytest.raises(CloudUnavailable) as caught:
        make_client().create_server(ServerSpec("np1", "i", "f", {}))
    assert not caught.value.unclear
    assert "evil.invalid" not in {seen.host for seen in cloud.seen}


def test_a_password_does_not_follow_one_either(cloud, make_client):
    cloud.on("POST", "/v3/auth/tokens", to("http://evil.invalid/v3/auth/tokens"))
    with pytest.raises(CloudUnavailable, match="which is another host"):
        make_client().list_flavors()
    assert {seen.host for seen in cloud.seen} == {"keystone.invalid"}


def test_a_redirect_on_the_same_host_is_followed(cloud, make_client):
    cloud.on("GET", "/v2.1/flavors/detail", to("http://nova.invalid/v2.1/elsewhere"))
    cloud.on("GET", "/v2.1/elsewhere", (200, {"flavors": []}))
    assert make_client().list_flavors() == []


@pytest.mark.parametrize(
    ("here", "there", "follows"),
    [
        ("https://a.invalid/x", "https://a.invalid/y", True),
        ("https://a.invalid/x", "https://a.invalid:8774/y", True),
        ("http://a.invalid/x", "https://a.invalid/y", True),
        ("https://A.invalid/x", "y", True),
        ("https://a.invalid/x", "http://a.invalid/y", False),
        ("https://a.invalid/x", "https://b.invalid/y", False),
        ("https://a.invalid/x", "//b.invalid/y", False),
        ("https://a.invalid/x", "https://a.invalid.b.invalid/y", False),
        ("https://a.invalid/x", "https://a.invalid@b.invalid/y", False),
        ("http://a.invalid/x", "ftp://a.invalid/y", False),
    ],
)
def test_where_a_redirect_may_lead(here, there, follows):
    request, response = SimpleNamespace(url=here), SimpleNamespace(status_code=302, headers={"Location": there})
    if follows:
        _check_redirect(request, response)
    else:
        with pytest.raises(Redirected, match="is not followed"):
            _check_redirect(request, response)
