# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodepool_config_check returns, and when it fails."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError, PartlyFailed
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime import config_checking
from tests.support.world import one_provider


class Module:
    """Stands in for AnsibleModule."""

    _diff = False

    def __init__(self, **params: Any) -> None:
        values = {name: spec.get("default") for name, spec in config_checking.CONFIG_CHECK_ARGUMENTS.items()}
        self.params = values | params
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "nodepool.yaml"
    file.write_text(json.dumps(one_provider()), encoding="utf-8")
    return file


def test_offline_the_files_alone_are_looked_at(config):
    result = config_checking.check(Module(config=str(config), offline=True))
    assert result == {"changed": False, "labels": 3, "providers": {}, "unchecked": [], "unusable": []}


@pytest.mark.parametrize("missing", [True, False])
def test_offline_the_zookeeper_servers_may_be_in_a_file_that_is_not_here(config, tmp_path, missing):
    document = one_provider()
    document.pop("zookeeper-servers", None)
    config.write_text(json.dumps(document), encoding="utf-8")
    module = Module(config=str(config), offline=True)
    assert config_checking.check(module)["labels"] == 3
    (warning,) = module.warnings
    assert "lacks the key zookeeper-servers" in warning
    secure = tmp_path / "secure.conf"
    secure.write_text("diskimages: []\n", encoding="utf-8")
    online = {} if missing else {"secure_config": str(secure), "offline": True}
    with pytest.raises(ConfigError, match="lacks the key zookeeper-servers"):
        config_checking.check(Module(config=str(config), **online))


def test_what_is_wrong_with_the_files_is_an_error(config):
    config.write_text("labels: 7", encoding="utf-8")
    with pytest.raises(ConfigError, match="labels"):
        config_checking.check(Module(config=str(config), offline=True))


def test_a_warning_is_the_modules(config, monkeypatch):
    told = {"changed": False, "unusable": [], "warnings": ["deprecated"]}
    monkeypatch.setattr(config_checking, "check_config", lambda options, offline: dict(told))
    module = Module(config=str(config))
    assert config_checking.check(module) == {"changed": False, "unusable": []}
    assert module.warnings == ["deprecated"]


def test_what_cannot_be_used_fails_and_the_result_is_carried(config, monkeypatch):
    asked: list[Any] = []

    def check_config(options: Any, offline: bool) -> dict[str, Any]:
        asked.append((options.config, options.providers, offline))
        return {"unusable": ["one: no network", "two: no flavor"], "warnings": []}

    monkeypatch.setattr(config_checking, "check_config", check_config)
    with pytest.raises(PartlyFailed, match="one: no network\ntwo: no flavor") as caught:
        config_checking.check(Module(config=str(config), providers=["east", "east"]))
    assert asked == [(str(config), ("east",), False)]
    assert caught.value.result == {"unusable": ["one: no network", "two: no flavor"]}


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_a_time_out_that_is_none_is_refused_before_anything_is_read(seconds):
    with pytest.raises(ConfigError, match=r"api_timeout is .*: give seconds, more than 0"):
        config_checking.check(Module(config="/nonexistent", api_timeout=seconds))
