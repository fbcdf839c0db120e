# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration and the distributions of durations."""

from __future__ import annotations

import random

import pytest

from tests.simcloud.config import Settings, parse
from tests.simcloud.timing import Duration, iso
from tests.support.simcloud_process import default_cloud


@pytest.mark.parametrize(
    ("spec", "low", "high"),
    [
        (3, 3, 3),
        ({"kind": "fixed", "value": 2.5}, 2.5, 2.5),
        ({"kind": "uniform", "low": 1, "high": 2}, 1, 2),
        ({"kind": "normal", "mean": 1, "sd": 5}, 0, 30),
    ],
)
def test_durations_stay_in_their_range(spec, low, high):
    duration, source = Duration.parse(spec), random.Random(7)
    drawn = [duration.draw(source) for _number in range(200)]
    assert min(drawn) >= low and max(drawn) <= high


def test_the_same_seed_gives_the_same_durations():
    duration = Duration.parse({"kind": "normal", "mean": 20, "sd": 2})
    first, second = random.Random(3), random.Random(3)
    assert [duration.draw(first) for _n in range(5)] == [duration.draw(second) for _n in range(5)]


@pytest.mark.parametrize("spec", [-1, True, "2", {"kind": "gamma"}, {"kind": "normal", "mean": 1}, None])
def test_bad_durations_are_refused(spec):
    with pytest.raises(ValueError, match="duration"):
        Duration.parse(spec)


def test_the_default_cloud_is_a_configuration():
    cloud = parse({"clouds": default_cloud("a", quota={"instances": 3})}).clouds["a"]
    assert [flavor.name for flavor in cloud.flavors] == ["small", "medium", "large"]
    assert cloud.settings.quota["instances"] == 3 and cloud.settings.quota["cores"] == 100
    assert cloud.settings.azs == ["az1", "az2"]


def test_guests_get_loopback_addresses_and_nobody_shares_them():
    clouds = parse({"clouds": default_cloud("a", guests={"mode": "each"}) | default_cloud("b", guests=True)}).clouds
    ranges = [subnet.cidr for cloud in clouds.values() for network in cloud.networks for subnet in network.subnets]
    assert all(item.is_loopback for item in ranges)
    assert len(set(ranges)) == len(ranges) == 4


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"clouds": {}},
        {"clouds": {"control": {}}},
        {"clouds": {"a": {"nonsense": 1}}},
        {"clouds": {"a": {"boot": -1}}},
        {"clouds": {"a": {"quota": {"nonsense": 1}}}},
        {"clouds": {"a": {"guests": {"mode": "some"}}}},
        {"clouds": {"a": {"identity_of": "b"}}},
        {"clouds": {"a": {"flavors": [{"name": "x"}]}}},
    ],
)
def test_a_wrong_configuration_is_refused(document):
    with pytest.raises(ValueError, match="cloud"):
        parse(document)


def test_a_wrong_change_changes_nothing():
    settings = Settings()
    with pytest.raises(ValueError, match="nonsense"):
        settings.change({"boot": 9, "nonsense": 1})
    assert settings.boot == Settings().boot


def test_changes_are_merged():
    settings = Settings()
    settings.change({"quota": {"ports": 1}, "latency": {"default": 1}})
    settings.change({"latency": {"POST /servers": 2}})
    assert settings.quota["ports"] == 1 and settings.quota["instances"] == 20
    assert sorted(settings.latency) == ["POST /servers", "default"]


def test_a_password_can_be_changed():
    settings = parse({"clouds": default_cloud("a", password="first")}).clouds["a"].settings
    assert settings.password == "first"
    settings.change({"password": "second"})
    assert settings.password == "second"


def test_moments_are_utc():
    assert iso(0) == "1970-01-01T00:00:00Z"
