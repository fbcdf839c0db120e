# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations are named as openstacksdk names them: the library itself says what is right."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from openstack.proxy import Proxy, normalize_metric_name

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.api_names import (
    in_one_folder,
    operation_of,
)
from tests.support.effort import examples

HEX = "0b1e3a527f0d4c539b0e0d1c2b3a4f5e"
UUID = "0b1e3a52-7f0d-4c53-9b0e-0d1c2b3a4f5e"
LIBRARY = Proxy.__new__(Proxy)

KNOWN = {
    "https://nova.example/v2.1/servers": "servers",
    f"https://nova.example/v2.1/servers/{UUID}": "server",
    "https://nova.example/v2.1/servers/detail?limit=1000&marker=x": "servers_detail",
    f"https://nova.example/v2.1/{HEX}/servers/detail": "servers_detail",
    f"https://nova.example/v2.1/servers/{UUID}/action": "server_action",
    "https://nova.example/v2.1/limits": "limits",
    "https://nova.example/v2.1/os-availability-zone": "os-availability-zone",
    "https://nova.example/v2.1/flavors/detail": "flavors_detail",
    "https://cloud.example/compute/v2.1/servers": "compute_servers",
    f"https://cloud.example:8774/compute/v2.1/servers/{UUID}": "compute_server",
    "https://cloud.example/compute/v2.1/servers/detail": "servers_detail",
    "http://127.0.0.1:1/plain-0/compute/v2.1/servers": "plain-0_v2_1",
    f"https://cinder.example/v3/{HEX}/volumes/detail": "volumes_detail",
    f"https://cinder.example/v3/{HEX}/volumes/{UUID}": "volume",
    f"https://cloud.example/volume/v3/{HEX}/limits": "volume_limits",
    "https://neutron.example/v2.0/networks.json": "networks",
    "https://neutron.example/v2.0/ports?device_id=a&device_id=b": "ports",
    f"https://neutron.example/v2.0/floatingips/{UUID}": "floatingip",
    f"https://neutron.example/v2.0/quotas/{HEX}/details.json": "quota",
    "https://glance.example/v2/images": "images",
    f"https://glance.example/v2/images/{UUID}/file": "image_file",
    f"https://cloud.example/image/v2/images/{UUID}/file": "image_image_file",
    f"https://swift.example/v1/AUTH_{HEX}/box/thing": "box",
    "https://keystone.example/v3/auth/tokens": "tokens",
    "https://nova.example/v2.1": "discovery",
    "https://nova.example/": "discovery",
    "/servers": "servers",
    f"/servers/{UUID}": "server",
    "/servers/detail": "servers_detail",
    "servers/a:b.c": "server",
    "/analysis/1": "analysis",
    "/v2.1/os.x/1/y:z": "os_x_y_z",
}


def library(url: str, project_id: str | None) -> str:
    """What openstacksdk calls it."""
    names = Proxy._extract_name.__wrapped__(LIBRARY, url, None, project_id)
    return "_".join(normalize_metric_name(name) for name in names)


@pytest.mark.parametrize(("url", "operation"), KNOWN.items())
def test_calls_have_the_names_that_the_library_gives(url, operation):
    assert operation_of(url, HEX) == operation
    assert library(url, HEX) == operation


WORDS = "v v2.1 v3 compute servers detail limits os-x tokens analysis s a.json ports.json AUTH_p AUTH_ p a:b ü %20 ;x=1"
PIECES = st.sampled_from(["", " ", HEX, UUID, *WORDS.split()]) | st.text(
    st.characters(exclude_characters="/?#[]"), max_size=5
)


@given(
    st.sampled_from(["", "http://cloud.example", "https://cloud.example:8774"]),
    st.lists(PIECES, max_size=7),
    st.sampled_from(["", "?limit=1", "#x"]),
    st.sampled_from([None, "", "p", HEX]),
)
@settings(max_examples=examples(300))
def test_of_any_url_the_library_says_the_same(start, pieces, end, project_id):
    url = start + "/" + "/".join(pieces) + end
    ours = operation_of(url, project_id)
    assert ours and not set(ours) & set("./:")
    try:
        theirs = library(url, project_id or None)
    except IndexError:
        # It says nothing of a call whose path is the project alone, or begins with a "v" alone.
        assume(False)
    assert ours == (theirs or "discovery")


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        (f"/servers/{UUID}", "compute_server"),
        ("/servers", "compute_servers"),
        (f"/servers/{UUID}/action", "compute_server_action"),
        ("/servers/detail?limit=1000", "servers_detail"),
    ],
)
@pytest.mark.parametrize("folders", ["a/compute", "a/b/compute", "a/b/c/compute"])
def test_no_id_is_in_a_name_however_many_folders_an_endpoint_has(folders, path, operation):
    endpoint = f"https://cloud.example/{folders}/v2.1"
    assert operation_of(in_one_folder(endpoint + path, endpoint), HEX) == operation


@pytest.mark.parametrize("endpoint", ["https://nova.example/v2.1", "https://cloud.example/compute/v2.1"])
def test_with_one_folder_or_none_nothing_is_changed(endpoint):
    assert in_one_folder(f"{endpoint}/servers/{UUID}", endpoint) == f"{endpoint}/servers/{UUID}"
