# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configurations that the scenarios write are right."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from tests.bench.rooms import ROOMS
from tests.bench.world import SEED, Scene
from tests.simcloud.config import parse


@pytest.mark.parametrize("scene", [Scene(), Scene(providers=("a", "b"), guests=False, min_ready=3, quota=7)])
def test_the_launcher_reads_its_configuration_without_a_warning(scene):
    config = parse_config(scene.nodepool_yaml(2181, lambda name: 2222), "nodepool.yaml", None, environ={}, strict=True)
    assert not config.warnings
    assert list(config.providers) == list(scene.providers)
    pool = config.providers[scene.providers[0]].pools["main"]
    assert pool.limits["instances"] == scene.quota
    assert pool.labels["small"].host_key_checking is scene.guests
    assert config.labels["small"].min_ready == scene.min_ready


def test_the_cloud_is_the_one_that_the_figures_are_given_for():
    cloud = parse({"clouds": Scene(small=0.1).clouds()}).clouds["sim"]
    settings = cloud.settings
    assert (cloud.seed, settings.quota["instances"]) == (SEED, 200)
    assert (settings.boot.kind, settings.boot.a, settings.boot.b) == ("normal", 20.0, 2.0)
    latency = {kind: duration.a for kind, duration in settings.latency.items()}
    assert latency == {"POST /servers": 0.3, "GET /servers/detail": 0.3, "default": 0.1}


def test_rooms_have_names_of_their_own():
    names = [room.name for room in ROOMS]
    assert len(set(names)) == len(names)
    assert all(room.title for room in ROOMS)
