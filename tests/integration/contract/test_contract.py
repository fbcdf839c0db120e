# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated cloud answers as a real OpenStack does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.integration.contract.observe import RECORDED, differences, observe
from tests.support.simcloud_process import LIKE_DEVCLOUD, SimCloud, default_cloud


def recorded():
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def test_the_simulated_cloud_answers_as_recorded():
    with SimCloud(default_cloud("contract", **LIKE_DEVCLOUD, boot=0.5, delete=0.2)) as sim:
        found = observe("contract", str(sim.clouds_yaml))
    assert not differences(recorded(), found), "\n".join(differences(recorded(), found))


@pytest.mark.timeout(600)
def test_a_real_control_plane_still_answers_as_recorded():
    base = os.environ.get("STACKCI_DEVCLOUD")
    if not base:
        pytest.skip(
            "STACKCI_DEVCLOUD is not set: run tests/devcloud/devcloud.sh install and start, "
            "and set it to the base directory (or to its clouds.yaml)"
        )
    clouds_yaml = Path(base)
    if clouds_yaml.is_dir():
        clouds_yaml = clouds_yaml / "clouds.yaml"
    assert clouds_yaml.is_file(), f"STACKCI_DEVCLOUD names {base}, where there is no clouds.yaml"
    found = observe("devcloud", str(clouds_yaml))
    assert not differences(recorded(), found), "\n".join(differences(recorded(), found))


def test_a_difference_is_noticed():
    expected = {"same": 1, "changed": {"status": 403}, "lost": True}
    found = {"same": 1, "changed": {"status": 500}, "new": True}
    names = [line.partition(":")[0] for line in differences(expected, found)]
    assert names == ["changed", "lost", "new"]
