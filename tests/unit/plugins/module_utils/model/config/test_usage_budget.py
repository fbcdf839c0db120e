# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Budgets of tenants are options of nodepool-settings.yaml alone."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.usage_budget import UsageBudget
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError

MAIN = "zookeeper-servers: [{host: zk}]\nlabels: []\nproviders: []\n"
BUDGETS = "usage-budgets: [{name: openstack, hours-per-month: 10000}, {name: zuul, hours-per-day: 5}]"


def test_they_are_read_by_tenant_and_belong_to_no_entry_of_nodepool_yaml() -> None:
    config = parse_config(MAIN, settings_text=BUDGETS)
    assert config.usage_budgets == {
        "openstack": UsageBudget("openstack", 0, 10000),
        "zuul": UsageBudget("zuul", 5, 0),
    }
    assert parse_config(MAIN).usage_budgets == {}


def test_nodepool_yaml_does_not_have_them() -> None:
    config = parse_config(MAIN + BUDGETS)
    assert config.usage_budgets == {} and "usage-budgets" in " ".join(config.warnings)


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ("[{name: a}, {name: a}]", "is also the name of entry number 1"),
        ("[{hours-per-day: 1}]", "name"),
        ("[{name: a, hours-per-day: -1}]", "hours-per-day"),
        ("[{name: a, hours-per-week: 1}]", "hours-per-week"),
    ],
)
def test_what_cannot_be_meant_is_refused(budgets: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_config(MAIN, settings_text=f"usage-budgets: {budgets}")
