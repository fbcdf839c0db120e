# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests belong to a change."""

from __future__ import annotations

from tools.quick import HOUSE, held_elsewhere, quick_tests

NODE = "plugins/module_utils/model/node.py"
TEST_OF_NODE = "tests/unit/plugins/module_utils/model/test_node.py"
OTHER = "tests/unit/plugins/module_utils/model/test_request.py"
CREATES = "plugins/module_utils/cycles/launcher/launches/creates.py"
SIMULATION = "tests/simulation/launcher/test_slow_creates.py"
THERE = (TEST_OF_NODE, OTHER, SIMULATION, *HOUSE)
HELD = held_elsewhere(
    [
        "# a remark",
        "",
        "cycles/launcher/launches/creates.py simulation/launcher/test_slow_creates.py integration/pressure/test_x.py",
    ]
)


def test_a_changed_plugin_file_brings_its_mirror_and_the_rules_of_the_house():
    assert quick_tests([NODE], THERE, HELD) == sorted([TEST_OF_NODE, *HOUSE])


def test_a_changed_test_brings_itself():
    assert quick_tests([OTHER], THERE, HELD) == [OTHER]


def test_what_has_no_unit_test_brings_none():
    changed = ["README.md", "plugins/module_utils/model/tree.yml", "tests/integration/test_x.py"]
    assert quick_tests(changed, THERE, HELD) == []


def test_a_file_without_unit_tests_brings_the_simulation_that_holds_it():
    assert quick_tests([CREATES], THERE, HELD) == sorted([SIMULATION, *HOUSE])
