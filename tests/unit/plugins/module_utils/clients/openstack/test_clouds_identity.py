# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How it is told that an entry of clouds.yaml has changed, and that it leads elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import file_stamps
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.clouds import (
    CloudEntry,
    Place,
    clouds_files,
    load_cloud_entry,
)

AUTH = {"auth_url": "http://keystone:5000/v3", "username": "ci", "password": "secret-1", "project_name": "jobs"}


def entry(tmp_path: Path, region: str | None = None, auth: dict[str, Any] | None = None, **more: Any) -> CloudEntry:
    path = tmp_path / "clouds.yaml"
    document = {"clouds": {"one": {"regions": ["east", "west"], "auth": {**AUTH, **(auth or {})}, **more}}}
    path.write_text(json.dumps(document), "utf-8")
    return load_cloud_entry("p", "one", region, str(path))


def test_what_is_written_again_unchanged_has_the_same_fingerprint(tmp_path):
    assert entry(tmp_path).fingerprint == entry(tmp_path).fingerprint


@pytest.mark.parametrize(
    "change", [{"auth": {"password": "secret-2"}}, {"region": "west"}, {"private": True}, {"verify": False}]
)
def test_whatever_changes_shows_in_the_fingerprint(tmp_path, change):
    assert entry(tmp_path, **change).fingerprint != entry(tmp_path).fingerprint


@pytest.mark.parametrize(
    "auth",
    [
        {"password": "secret-2"},
        {"username": "ci2"},
        {"auth_url": "http://KEYSTONE:5000/v3/"},
        {"auth_url": "http://keystone:5000"},
    ],
)
def test_another_login_leads_to_the_same_place(tmp_path, auth):
    assert entry(tmp_path, auth=auth).place.matches(entry(tmp_path).place)


@pytest.mark.parametrize(
    "change", [{"auth": {"project_name": "other"}}, {"auth": {"auth_url": "http://k2:5000"}}, {"region": "west"}]
)
def test_another_project_cloud_or_region_is_another_place(tmp_path, change):
    assert not entry(tmp_path, **change).place.matches(entry(tmp_path).place)


def test_what_is_not_known_of_a_place_speaks_against_nothing(tmp_path):
    place = entry(tmp_path).place
    assert place.matches(Place())
    assert Place.from_document(None).matches(place)
    assert Place.from_document(place.document()) == place


def test_no_secret_is_in_what_is_stored_of_a_place(tmp_path):
    text = json.dumps(entry(tmp_path).place.document())
    assert not any(value in text for value in AUTH.values())


def test_the_files_that_are_looked_at(tmp_path, monkeypatch):
    named = str(tmp_path / "named.yaml")
    assert clouds_files(named)[0] == named
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", "/override.yaml")
    assert clouds_files()[0] == "/override.yaml"
    assert any(path.endswith("/etc/openstack/clouds.yaml") for path in clouds_files())
    assert any(path.endswith("secure.yaml") for path in clouds_files(named))


def test_stamps_tell_changed_replaced_and_linked_files_and_leave_out_what_is_away(tmp_path):
    path, link, other = tmp_path / "a", tmp_path / "link", tmp_path / "b"
    path.write_text("one")
    other.write_text("one")
    link.symlink_to(path)
    first = file_stamps([str(path), str(link), str(tmp_path / "absent")])
    assert set(first) == {str(path), str(link)}
    path.write_text("other")
    assert file_stamps([str(path)]) != {str(path): first[str(path)]}
    link.unlink()
    link.symlink_to(other)
    assert file_stamps([str(link)])[str(link)] != first[str(link)]
