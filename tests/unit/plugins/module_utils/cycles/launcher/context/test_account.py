# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle says that it did."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.account import Account
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason

ROOM = {"where": "east/main", "resource": "cores", "needed": 4, "left": 1}


def test_a_reason_is_news_when_its_code_or_its_place_changes_but_not_its_figures():
    account = Account()
    assert account.wait("r", Reason(reasons.NO_ROOM, ROOM), stored=True)
    assert not account.wait("r", Reason(reasons.NO_ROOM, {**ROOM, "left": 2}), stored=True)
    assert account.waiting["r"]["left"] == 2, "the latest figures are shown all the same"
    assert account.wait("r", Reason(reasons.NO_ROOM, {**ROOM, "where": "west/main"}), stored=True)
    assert account.wait("r", Reason(reasons.NOT_ACTING, {"where": "west/main"}), stored=True)
    account.forget_wait("r")
    assert "r" not in account.waiting
    assert account.wait("r", Reason(reasons.NOT_ACTING, {"where": "west/main"}), stored=True)
    assert account.wait("other", Reason(reasons.NOT_ACTING, {"where": "west/main"}), stored=True)


@pytest.mark.parametrize("kind", ["fulfilled", "canceled", "launched", "adopted", "deleted"])
def test_what_was_done_is_a_change(kind):
    account = Account()
    assert not account.changed
    getattr(account, kind).append("1")
    assert account.changed


@pytest.mark.parametrize("kind", ["failed", "declined"])
def test_what_was_decided_is_a_change(kind):
    account = Account()
    getattr(account, kind)["1"] = []
    assert account.changed


def test_waiting_changes_nothing():
    account = Account(unmet_spares={"small": 2})
    account.wait("r", Reason(reasons.NO_ROOM, ROOM), stored=True)
    account.step("n", "created", 1.0)
    assert not account.changed


def test_the_document_is_plain_json_and_independent():
    account = Account(fulfilled=["100-1"], launched=["7"], launch_failures={"7": ["attempt 1: fault: x"]})
    account.wait("r", Reason(reasons.NO_ROOM, ROOM), stored=True)
    account.step("7", "created", 5.0)
    document = account.result()
    assert json.loads(json.dumps(document)) == document
    account.fulfilled.append("100-2")
    assert document["requests"]["fulfilled"] == ["100-1"]
    assert document["requests"]["waiting"][0]["reason"]["code"] == "no-room"
    assert document["nodes"]["failed"] == [{"id": "7", "failures": ["attempt 1: fault: x"]}]
