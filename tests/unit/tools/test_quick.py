# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which unit tests belong to a change."""

from __future__ import annotations

from tools.quick import HOUSE, unit_tests

NODE = "plugins/module_utils/model/node.py"
TEST_OF_NODE = "tests/unit/plugins/module_utils/model/test_node.py"
OTHER = "tests/unit/plugins/module_utils/model/test_request.py"
THERE = (TEST_OF_NODE, OTHER, *HOUSE)


def test_a_changed_plugin_file_brings_its_mirror_and_the_rules_of_the_house():
    assert unit_tests([NODE], THERE) == sorted([TEST_OF_NODE, *HOUSE])


def test_a_changed_test_brings_itself():
    assert unit_tests([OTHER], THERE) == [OTHER]


def test_what_has_no_unit_test_brings_none():
    assert unit_tests(["README.md", "plugins/module_utils/model/tree.yml", "tests/integration/test_x.py"], THERE) == []
