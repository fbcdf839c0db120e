# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.drivers import (
    is_of_other_driver,
    other_driver,
    still_told,
)

MACHINES = f"nodepool.yaml:9: providers[machines]: {other_driver('static')}"
PODS = f"nodepool.yaml:12: providers[pods]: {other_driver('kubernetes')}"
KEY = "nodepool.yaml:3: providers[machines]: unknown key colour"


@pytest.mark.parametrize(
    ("served", "left"),
    [
        ((), [MACHINES, KEY, PODS]),
        (("machines",), [KEY, PODS]),
        (("machines", "pods"), [KEY]),
        (("machine", "ods", ""), [MACHINES, KEY, PODS]),
    ],
)
def test_only_the_warning_about_a_driver_vanishes_and_only_of_served_providers(served, left):
    assert still_told([MACHINES, KEY, PODS], served) == left


def test_a_warning_about_a_driver_is_known_from_others():
    assert [is_of_other_driver(text) for text in (MACHINES, KEY, PODS)] == [True, False, True]
