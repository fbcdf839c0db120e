# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of one moment."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import (
    API_CALLS,
    LAUNCH_FAULTS,
    REQUEST_READY,
    Counters,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.sampling import Sampler
from tests.support import busy_tree
from tests.support.tree_reading import NOW, reading_of

CONFIG = parse_config(busy_tree.config())


def tree(**counts):
    counters = Counters()
    for name, number in counts.items():
        if name == "faults":
            counters.add(LAUNCH_FAULTS, "east", "main", "cloud", amount=number)
        elif name == "waits":
            for _turn in range(number):
                counters.observe(REQUEST_READY, "east", "main", seconds=42.0)
        else:
            counters.add(API_CALLS, "east", "GET", "/servers", name.removeprefix("s"), amount=number)
    document = {"host": "nl01", "cycle": "launcher", "counters": counters.document()}
    return reading_of({**busy_tree.documents(NOW), f"{paths.OWN}/counters/nl01-launcher": document})


def test_the_first_point_has_what_is_and_no_increases():
    found = Sampler().sample(tree(s200=9), CONFIG, NOW)
    assert set(found) == {"nodes", "images"}
    assert sum(found["nodes"].values()) == 60 and found["nodes"]["in-use"] > found["nodes"]["ready"] > 0
    assert found["images"]["debian-12"] == 3 * 3600


def test_a_later_point_has_what_was_counted_in_between():
    sampler = Sampler()
    sampler.sample(tree(s200=90, s503=2, faults=1, waits=3), CONFIG, NOW)
    found = sampler.sample(tree(s200=100, s503=7, s404=4, faults=3, waits=5), CONFIG, NOW + 60)
    assert found["calls"] == {"east": 19} and found["errors"] == {"east": 5}
    assert found["failures"] == {"cloud": 2} and found["waits"] == {"45": 2}


def test_numbers_that_nobody_can_have_counted_are_none():
    sampler = Sampler()
    sampler.sample(tree(s200=1), CONFIG, NOW)
    huge = {"host": "x", "cycle": "sweep", "counters": {"api_calls": [[["east", "GET", "/", "200"], [1.7e308]]]}}
    places = {f"{paths.OWN}/counters/x-{number}": huge for number in range(3)}
    assert sampler.sample(reading_of(places), CONFIG, NOW + 60)["calls"] == {}


def test_a_counter_that_began_again_is_no_negative_increase():
    sampler = Sampler()
    sampler.sample(tree(s200=90), CONFIG, NOW)
    found = sampler.sample(tree(s200=3), CONFIG, NOW + 60)
    assert found["calls"] == {} and found["errors"] == {}
