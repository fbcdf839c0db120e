# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a configuration means; no ZooKeeper and no cloud is there."""

from __future__ import annotations

import json

from ansible_collections.stackci.nodepool.plugins.modules import nodepool_config_info
from tests.support.ansible_run import run_alone, run_module
from tests.support.documented import differences

CONFIG = {
    "zookeeper-servers": [{"host": "localhost"}],
    "labels": [{"name": "small"}],
    "cloud": "an unknown key",
    "providers": [
        {"name": "west", "cloud": "west", "pools": [{"name": "main", "max-servers": 3, "labels": []}]},
        {"name": "cluster", "driver": "kubernetes", "context": "ours"},
    ],
}


def test_all_is_told_as_documented(tmp_path):
    (tmp_path / "nodepool.yaml").write_text(json.dumps(CONFIG), "utf-8")
    result = run_module("nodepool_config_info", {"config": "nodepool.yaml"}, tmp_path, check=True).result
    shown = {name: value for name, value in result.items() if name not in ("failed", "invocation", "warnings")}
    assert differences(nodepool_config_info.RETURN, shown, check=True) == []
    assert (result["failed"], result["changed"], len(result["problems"])) == (False, False, 2)
    assert result["other_providers"] == [{"name": "cluster", "driver": "kubernetes"}]
    pool = {"config": "nodepool.yaml", "sections": ["providers[west].pools[main]"], "only_given": True}
    rows = run_alone("nodepool_config_info", pool, tmp_path).result["settings"]
    assert [(row["option"], row["value"], row["origin"]) for row in rows] == [("max-servers", 3, "pool")]


def test_what_is_wrong_is_told_in_full_and_an_unknown_section_with_the_nearest(tmp_path):
    (tmp_path / "nodepool.yaml").write_text(json.dumps(CONFIG), "utf-8")
    result = run_alone("nodepool_config_info", {"config": "nodepool.yaml", "strict_config": True}, tmp_path).result
    assert result["failed"] and len(result["problems"]) == 2 and "cloud" in result["msg"]
    result = run_alone(
        "nodepool_config_info", {"config": "nodepool.yaml", "sections": ["labels[smal]"]}, tmp_path
    ).result
    assert "did you mean labels[small]?" in result["msg"]
