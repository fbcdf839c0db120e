# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever stands where a record has an id, a call is about a resource of its kind, or is not made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.kinds import in_path, names_nothing

UUID = "0b1e3a52-7f0d-4c53-9b0e-0d1c2b3a4f5e"
CINDER = "/v3/0b1e3a527f0d4c539b0e0d1c2b3a4f5e"
LEADING_ELSEWHERE = (
    "",
    ".",
    "..",
    "../networks/x",
    f"../../../image/v2/images/{UUID}",
    f"{UUID}/action",
    f"{UUID}/../..",
    "/",
)
"""Texts that a client or a server would read as more than one segment of a path, or as none."""
DELETIONS: dict[str, Callable[[CloudClient, str], bool]] = {
    "/v2.1/servers/": CloudClient.delete_server,
    "/v2/images/": lambda client, ident: client.images.delete(ident),
    f"{CINDER}/volumes/": CloudClient.delete_volume,
    "/v2.0/ports/": CloudClient.delete_port,
    "/v2.0/floatingips/": CloudClient.delete_floating_ip,
    "/v2.0/security-groups/": lambda client, ident: client.access.delete_group(ident),
    "/v2.1/os-keypairs/": lambda client, ident: client.access.delete_keypair(ident),
}


@pytest.mark.parametrize("folder", DELETIONS)
@pytest.mark.parametrize("ident", LEADING_ELSEWHERE)
def test_what_no_resource_can_have_as_id_is_gone_without_a_call(folder, ident, cloud, make_client) -> None:
    client = make_client()
    assert DELETIONS[folder](client, ident) is False
    assert cloud.calls() == []


@pytest.mark.parametrize("ident", LEADING_ELSEWHERE)
def test_a_server_or_image_with_such_an_id_is_not_there(ident, cloud, make_client) -> None:
    client = make_client()
    assert client.get_server(ident) is None
    assert client.images.get(ident) is None
    assert client.console_log(ident) is None
    assert client.force_delete_server(ident) is False
    assert cloud.calls() == []


@pytest.mark.parametrize("folder", DELETIONS)
@pytest.mark.parametrize("ident", [f"{UUID}?force=true", f"{UUID}#x", "%2e%2e", "a b", f"{UUID};x", "ü"])
def test_other_letters_stay_within_the_id(folder, ident, cloud, make_client) -> None:
    path = folder + in_path(ident)
    cloud.on("DELETE", path, (204, ""))
    assert DELETIONS[folder](make_client(), ident) is True
    assert (cloud.seen[-1].path, cloud.seen[-1].query) == (path, {})


@given(st.text() | st.text(alphabet="./%2Fe?#\\ "))
@example("\ud800")
def test_a_path_with_an_id_has_one_segment_more_or_names_nothing(ident: str) -> None:
    path = f"/servers/{in_path(ident)}"
    assert path.count("/") == 2 and "?" not in path and "#" not in path
    assert names_nothing(path) == (not ident.strip(".") or "/" in ident)
    assert names_nothing(f"{path}/action") == names_nothing(path)
    if ident.isprintable():
        assert unquote(in_path(ident)) == ident


@pytest.mark.parametrize("path", ["/servers", "/servers/detail", f"/images/{UUID}/file", "/info/import", "info/import"])
def test_ordinary_paths_name_something(path: str) -> None:
    assert not names_nothing(path)
    assert in_path(UUID) == UUID


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ident=st.text(min_size=1).filter(lambda text: text.strip(".") and "/" not in text))
def test_any_id_reaches_its_own_service(ident: str, cloud: Any, make_client: Any) -> None:
    cloud.on("DELETE", f"/v2.1/servers/{in_path(ident)}", (204, ""))
    assert make_client().delete_server(ident) is True
