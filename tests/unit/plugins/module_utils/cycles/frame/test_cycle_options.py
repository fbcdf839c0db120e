# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that cycles share."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.cycle_options import (
    ConfigOptions,
    unknown_providers,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError

TEXT = """
zookeeper-servers: [{host: zk01}]
labels: [{name: small}]
providers:
  - {name: east, cloud: east}
  - {name: west, cloud: west}
"""


@pytest.fixture
def options(tmp_path):
    """Those of a configuration with two providers."""
    path = tmp_path / "nodepool.yaml"
    path.write_text(TEXT, "utf-8")
    return ConfigOptions(config=str(path), secure_config=str(tmp_path / "secure.conf"), clouds_config=None)


def test_the_configuration_is_read_again_as_it_is_then(options, tmp_path):
    (tmp_path / "secure.conf").write_text("", "utf-8")
    assert [*options.load().providers] == ["east", "west"]
    (tmp_path / "nodepool.yaml").write_text(TEXT.replace("west", "south"), "utf-8")
    assert [*options.reload().providers] == ["east", "south"]


def test_a_file_that_is_written_has_another_stamp_and_a_missing_one_none(options, tmp_path):
    before = options.stamps()
    assert [*before] == [options.config]
    (tmp_path / "nodepool.yaml").write_text(f"{TEXT}# more\n", "utf-8")
    assert options.stamps() != before
    (tmp_path / "secure.conf").write_text("", "utf-8")
    assert {*options.stamps()} == {options.config, options.secure_config}


def test_an_unknown_key_is_an_error_where_that_is_wanted(tmp_path):
    path = tmp_path / "nodepool.yaml"
    path.write_text(f"{TEXT}odd-key: 1\n", "utf-8")
    assert any("odd-key" in warning for warning in ConfigOptions(config=str(path)).load().warnings)
    with pytest.raises(ConfigError, match="odd-key"):
        ConfigOptions(config=str(path), strict_config=True).load()


def test_a_provider_that_is_not_there_is_told_with_those_that_are(options, tmp_path):
    (tmp_path / "secure.conf").write_text("", "utf-8")
    assert unknown_providers(options.load(), ["west", "north"]) == [
        f"providers: 'north' is not a provider in {options.config}, which has east, west"
    ]
