# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The worlds of the rooms in which things go wrong."""

from __future__ import annotations

import pytest
import yaml

from tests.bench.rooms import pressure_launches, pressure_troubled
from tests.bench.world import Scene
from tests.simcloud.config import parse
from tests.simcloud.faults import ALL_FAULTS


@pytest.mark.parametrize("scene", [pressure_troubled.Street(), pressure_launches.Ways()], ids=["street", "ways"])
def test_every_label_is_offered_by_somebody(scene: Scene):
    document = yaml.safe_load(scene.nodepool_yaml(2181, lambda name: 2022))
    pools = [pool for provider in document["providers"] for pool in provider["pools"]]
    offered = [label["name"] for pool in pools for label in pool["labels"]]
    assert sorted(offered) == sorted(label["name"] for label in document["labels"])
    for provider in document["providers"]:
        images = {image["name"] for image in provider["cloud-images"]}
        assert {label["cloud-image"] for pool in provider["pools"] for label in pool["labels"]} <= images
    networks = {
        network.name for cloud in parse({"clouds": scene.clouds()}).clouds.values() for network in cloud.networks
    }
    assert {name for pool in pools for name in pool["networks"]} <= networks


def test_the_troubles_are_ones_that_the_cloud_can_have():
    troubles = pressure_troubled.TROUBLES
    assert {trouble.fault for trouble in troubles} <= ALL_FAULTS
    assert set(pressure_troubled.QUICK) <= {trouble.name for trouble in troubles}
    assert len({trouble.name for trouble in troubles}) == len(troubles)
