# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova's scheduler hints and server groups in the simulated cloud."""

from __future__ import annotations

import pytest

from tests.simcloud.answers import Refusal
from tests.simcloud.compute.placement import group_of, hints_of, hosts_left
from tests.simcloud.config import ServerGroupConfig

GROUP, OTHER = (f"0a7c5c1e-5b5d-4a0e-9a51-6d4a1f0a9b1{number}" for number in (1, 2))
GROUPS = {GROUP: ServerGroupConfig(GROUP, "spread", "anti-affinity")}
HOSTS = ["h1", "h2", "h3"]


@pytest.mark.parametrize(
    ("hints", "words"),
    [
        ({"group": "spread"}, "'spread' is not a 'uuid'"),
        ({"group": OTHER}, f"Instance group {OTHER} could not be found."),
        ({"same_host": ["x"]}, "'x' is not a 'uuid'"),
        ({"query": 3}, "is not of type"),
        ([], "is not of type 'object'"),
    ],
)
def test_what_nova_refuses_is_refused_with_its_words(hints, words):
    with pytest.raises(Refusal) as caught:
        hints_of({"server": {}, "os:scheduler_hints": hints}, GROUPS)
    assert caught.value.answer.status == 400 and words in str(caught.value.answer.body)


def test_hints_are_beside_the_server():
    assert hints_of({"server": {}}, GROUPS) == {}
    assert group_of(hints_of({"server": {}, "OS-SCH-HNT:scheduler_hints": {"group": GROUP, "any": 3}}, GROUPS)) == GROUP
    with pytest.raises(Refusal):
        hints_of({"server": {}, "hints": {}}, GROUPS)


@pytest.mark.parametrize(
    ("hints", "policy", "left"),
    [
        ({}, "", HOSTS),
        ({}, "affinity", ["h1", "h2"]),
        ({}, "anti-affinity", ["h3"]),
        ({}, "soft-affinity", ["h1", "h2"]),
        ({}, "soft-anti-affinity", ["h3"]),
        ({"same_host": "c"}, "", ["h3"]),
        ({"different_host": ["a", "c"]}, "", ["h2"]),
        ({"same_host": "gone"}, "", []),
        ({"different_host": "c"}, "anti-affinity", []),
    ],
)
def test_the_hosts_that_are_left(hints, policy, left):
    assert hosts_left(HOSTS, hints, policy, ["a", "b"], {"a": "h1", "b": "h2", "c": "h3"}) == left
