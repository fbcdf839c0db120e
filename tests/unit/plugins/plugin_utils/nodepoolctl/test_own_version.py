# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.own_version import own_version
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.parser import parse
from tools.version import version


def test_the_option_shows_that_of_the_collection(capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"nodepoolctl {version()} (")


def test_an_installed_collection_has_it_in_its_manifest(tmp_path):
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"collection_info": {"version": "3.2.1"}}), encoding="utf-8")
    assert own_version(tmp_path) == "3.2.1"


@pytest.mark.parametrize("manifest", ["", "{}", "[]", '{"collection_info": null}'])
def test_without_files_that_say_it_nobody_knows(tmp_path, manifest):
    assert own_version(tmp_path) == "unknown"
    (tmp_path / "MANIFEST.json").write_text(manifest, encoding="utf-8")
    (tmp_path / "galaxy.yml").write_text("namespace: stackci\n", encoding="utf-8")
    assert own_version(tmp_path) == "unknown"
