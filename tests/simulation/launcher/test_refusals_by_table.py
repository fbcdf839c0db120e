# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each row of the classifier's table, as an answer to all creates: few of them are sent while the cloud answers so."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.classifier import COURSES, Tries
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import (
    FAULT,
    RULES,
    SERVERS,
    Rule,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner
from tests.support.owner_case import CREATE, answered, apart, creates, most_within
from tests.support.rule_examples import answer_of
from tests.support.virtual_cloud import Fate
from tests.support.world import World, one_provider

REQUESTS = 4
MOST = 6
"""Refused creates in two minutes. Those that were under way together count once."""
RETRIES = 3
ROWS = [
    (rule, call)
    for rule in RULES
    for call in (SERVERS, FAULT)
    if call.startswith(rule.calls) and not (call == FAULT and rule.statuses) and rule.owner != owner.UNKNOWN
]


@pytest.mark.parametrize(("rule", "call"), ROWS, ids=[f"{call}: {rule.shows}" for rule, call in ROWS])
def test_what_the_table_knows_is_tried_rarely(rule: Rule, call: str):
    answer = answer_of(rule, call)
    assert next(row for row in RULES if row.holds(answer)) is rule, "an earlier row knows it, too"
    with World(one_provider()) as world:
        if call == FAULT:
            world.clouds["east"].fate = lambda machine: Fate("ERROR", answer.text or answer.error_type, 2.0)
        else:
            world.fault("east", CREATE, error=lambda: answered(answer))
        cycle = world.start()
        requests = [world.request("small") for _unused in range(REQUESTS)]
        world.run(400)
        sent = creates(cycle)
        assert sent
        course = COURSES[rule.owner]
        if course.tries is Tries.RETRIES:
            assert len(sent) <= REQUESTS * (RETRIES + 1)
        # Each request may have met a taken name by chance, and gets one other name.
        most = MOST + REQUESTS if rule.owner == owner.US else MOST
        assert most_within(sent if call == SERVERS else apart(sent), 120.0) <= most
        if not course.may_fail:
            assert "failed" not in {world.state(request) for request in requests}
