# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the wrong type in clouds.yaml are told with the file, the key and the remedy, and without the value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.clouds import load_cloud_entry
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.entry_values import odd_values
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
KEYS = (
    "auth",
    "region_name",
    "api_timeout",
    "verify",
    "cacert",
    "networks",
    "interface",
    "private",
    "profile",
    "regions",
)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"api_timeout": "soon"}, "'api_timeout' is a text where a number of seconds belongs"),
        ({"region_name": ["a"]}, "'region_name' is a list where a text belongs"),
        ({"auth": {"password": 12345}}, "'auth.password' is a number where a text belongs: put it in quotes"),
        ({"regions": "RegionOne"}, "'regions' is a text where a list belongs: write region_name for a single one"),
        ({"regions": ["RegionOne", {"name": "RegionTwo"}]}, ""),
        ({"private": ["yes"]}, "'private' is a list where true or false belongs"),
        ({"auth": {"password": "x"}, "api_timeout": "30", "private": True, "region_name": None}, ""),
        (["x"], "it is not a mapping"),
    ],
)
def test_what_is_wrong_is_named(entry: Any, words: str) -> None:
    assert odd_values(entry) == words


@given(st.dictionaries(st.sampled_from(KEYS), ANY))
def test_any_entry_is_looked_at(entry: dict[str, Any]) -> None:
    assert isinstance(odd_values(entry), str)


def refused(path: Any, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CloudAuthError) as caught:
        load_cloud_entry("p1", "east", None, str(path))
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_number_for_a_password_is_told_and_not_quoted(tmp_path, clouds_yaml) -> None:
    told = refused(tmp_path / "clouds.yaml", clouds_yaml(password=987654321))
    assert "'auth.password' is a number" in told and "987654321" not in told


def test_a_text_for_a_time_limit_is_told(tmp_path, clouds_yaml) -> None:
    assert "'api_timeout' is a text" in refused(tmp_path / "clouds.yaml", clouds_yaml(api_timeout="soon"))


def test_a_list_for_a_region_is_told(tmp_path, clouds_yaml) -> None:
    assert "'region_name' is a list" in refused(tmp_path / "clouds.yaml", clouds_yaml(region_name=["a"]))


def test_a_text_for_regions_is_told_also_where_the_provider_names_its_region(tmp_path, clouds_yaml) -> None:
    path = tmp_path / "clouds.yaml"
    told = "'regions' is a text where a list belongs: write region_name"
    text = clouds_yaml(regions="RegionOne", region_name=None)
    assert told in refused(path, text)
    with pytest.raises(CloudAuthError, match=told):
        load_cloud_entry("p1", "east", "RegionOne", str(path))


def test_a_relative_path_is_told_with_the_place_where_it_was_looked_for(tmp_path, clouds_yaml, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = clouds_yaml(cacert="ca.pem").replace("http://keystone", "https://keystone")
    assert f"{tmp_path}/ca.pem was tried" in refused(tmp_path / "clouds.yaml", text)


@pytest.mark.parametrize(
    "text",
    [
        "$ANSIBLE_VAULT;1.1;AES256\n3832\n",
        "clouds:\n  east:\n    auth:\n      password: !vault |\n        $ANSIBLE_VAULT;1.1;AES256\n        3832\n",
    ],
)
def test_an_encrypted_file_is_told(tmp_path, text: str) -> None:
    assert "is encrypted with ansible-vault: decrypt it" in refused(tmp_path / "clouds.yaml", text)
