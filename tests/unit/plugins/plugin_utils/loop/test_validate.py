# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration files are judged before they replace others, and no secret is shown."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.validate import main

NODEPOOL = {"zookeeper-servers": [{"host": "z"}], "labels": [], "providers": []}
AUTH = {"auth_url": "http://c/v3", "username": "u", "password": "hush-hush", "project_name": "p"}
ENTRY = {"auth": {**AUTH, "user_domain_id": "default", "project_domain_id": "default"}}


@pytest.fixture
def write(tmp_path):
    def write(name, document):
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return str(path)

    return write


def test_what_can_be_used_is_taken(write):
    assert main(["--nodepool", write("new", NODEPOOL)]) == 0
    assert main(["--clouds", write("clouds", {"clouds": {"one": ENTRY}})]) == 0


def test_all_problems_of_nodepool_yaml_are_named(write, capsys):
    assert main(["--nodepool", write("new", {**NODEPOOL, "labels": [{"nam": "x"}], "providers": 3})]) == 1
    assert len(capsys.readouterr().err.splitlines()) >= 2


def test_nodepool_yaml_is_judged_with_the_secure_conf_that_is_there(write, tmp_path):
    new = write("new", {"labels": [], "providers": []})
    assert main(["--nodepool", new]) == 1
    write("secure.conf", {"zookeeper-servers": [{"host": "z"}]})
    assert main(["--nodepool", new, "--folder", str(tmp_path)]) == 0


def test_a_secure_conf_without_a_nodepool_yaml_is_judged_when_that_comes(write, tmp_path):
    assert main(["--secure", write("new", {"zookeeper-servers": [{"host": "z"}]}), "--folder", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "clouds",
    [
        "clouds: [",
        {"cloud": {}},
        {"clouds": {}},
        {"clouds": {"one": {"auth": {**AUTH, "auth_url": None}, "auth_type": "nonsense"}}},
    ],
)
def test_clouds_that_lead_nowhere_are_refused_without_showing_secrets(write, capsys, clouds):
    assert main(["--clouds", write("clouds", clouds)]) == 1
    told = capsys.readouterr()
    assert told.err and "hush-hush" not in told.err + told.out


def test_settings_are_judged_with_the_nodepool_yaml_that_is_there(write, tmp_path, capsys):
    folder = ["--folder", str(tmp_path)]
    new = write("new", {"labels": [{"name": "a"}]})
    assert main(["--settings", new, *folder]) == 0
    write("nodepool.yaml", NODEPOOL)
    assert main(["--settings", new, *folder]) == 1
    assert "names the label 'a'" in capsys.readouterr().err
    write("nodepool-settings.yaml", {"labels": [{"name": "a"}]})
    assert main(["--nodepool", write("newer", NODEPOOL), *folder]) == 1
    assert main(["--nodepool", write("newer", NODEPOOL), *folder, "--without-settings"]) == 0
