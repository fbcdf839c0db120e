# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason is a sentence with all its figures."""

from __future__ import annotations

import json
import string

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner, reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason

CODES = sorted(
    value
    for name, value in vars(reasons).items()
    if name.isupper() and isinstance(value, str) and not name.startswith("_")
)
FIGURES = {
    "where": "east/main",
    "resource": "ram",
    "needed": 4096,
    "left": 12,
    "tenant": "t",
    "launching": 3,
    "image": "debian",
    "build": "0123abcd",
    "fate": "is deactivated",
    "label": "small",
    "seconds": 12.4,
    "text": "503 Service Unavailable",
    "count": 2,
    "have": 1,
    "wanted": 3,
    "request": "100-0000000001",
    "state": "used",
    "age": 700.2,
    "limit": 600,
    "lease": "mine",
    "flavor": "m1",
    "server": "4711",
    "status": "ERROR",
}


def test_there_are_codes_and_no_two_are_the_same():
    assert len(CODES) > 20
    assert len(set(CODES)) == len(CODES)


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_a_sentence_of_its_own(code):
    text = Reason(code, FIGURES).text()
    assert text != code and "?" not in text and "{" not in text
    assert len(text) > 10


@pytest.mark.parametrize("code", CODES)
def test_every_reason_can_be_stored(code):
    document = Reason(code, FIGURES).document()
    assert json.loads(json.dumps(document))["code"] == code
    assert document["text"] == Reason(code, FIGURES).text()


@pytest.mark.parametrize("code", sorted(set(CODES) & set(reasons._TEXTS)))
def test_a_figure_that_is_missing_does_not_hide_the_rest(code):
    names = [
        name for _unused, name, spec, _unused in string.Formatter().parse(reasons._TEXTS[code]) if name and not spec
    ]
    for name in names:
        figures = {key: value for key, value in FIGURES.items() if key != {"next": "seconds"}.get(name, name)}
        assert "?" in Reason(code, figures).text()


ACTIONS = {
    reasons.FITS,
    reasons.REUSE,
    reasons.MIN_READY,
    reasons.ROOM_NEEDED,
    reasons.USED,
    reasons.AGED,
    reasons.HELD_TOO_LONG,
    reasons.OWNER_GONE,
    reasons.SERVER_GONE,
    reasons.SPARE_SILENT,
    reasons.BUILD_CONDEMNED,
    reasons.LEASE_EXPIRED,
    reasons.REQUEST_GONE,
    reasons.SURPLUS,
}


@pytest.mark.parametrize("code", CODES)
def test_every_trouble_has_an_owner_and_no_action_has_one(code):
    reason = Reason(code, FIGURES)
    if code in ACTIONS:
        assert reason.owner is None and "owner" not in reason.document()
    else:
        assert reason.owner in owner.OWNERS and reason.document()["owner"] == reason.owner


def test_what_the_figures_say_of_the_owner_comes_first_if_it_is_one():
    failed = Reason(reasons.LAUNCH_FAILED, {**FIGURES, "owner": owner.LABEL})
    assert failed.owner == failed.document()["owner"] == owner.LABEL
    odd = Reason(reasons.LAUNCH_FAILED, {**FIGURES, "owner": "somebody"})
    assert odd.owner == odd.document()["owner"] == owner.UNKNOWN


def test_room_names_amount_and_unit():
    figures = {"where": "east/main", "resource": "ram", "needed": 4096, "left": 1024}
    assert Reason(reasons.NO_ROOM, figures).text() == "4096 MiB ram needed, 1024 left in east/main"
    assert Reason(reasons.NO_ROOM, {**figures, "left": -5}).text() == "4096 MiB ram needed, 0 left in east/main"
    behind = Reason(reasons.NO_ROOM, {**figures, "behind": True}).text()
    assert behind.endswith("left in east/main behind earlier requests")
    too_large = Reason(reasons.TOO_LARGE_FOR_CLOUD, {**figures, "where": "east"}).text()
    assert too_large == "4096 MiB ram needed, east can never hold more than 1024"


def test_the_limit_of_a_tenant_is_named_and_whether_it_can_ever_be_kept():
    figures = {"tenant": "acme", "resource": "instances", "needed": 1, "left": 0, "limit": 6}
    text = Reason(reasons.TENANT_LIMIT, figures).text()
    assert text == "1 instance needed, tenant acme has 0 left of its limit of 6"
    text = Reason(reasons.TENANT_LIMIT, {**figures, "needed": 8}).text()
    assert text == "8 instances needed, tenant acme can never have more than its limit of 6"


def test_a_provider_in_trouble_is_named_once():
    for text in ("no answer to GET /limits for 9 s", "provider east: no answer to GET /limits for 9 s"):
        trouble = Reason(reasons.PROVIDER_TROUBLE, {"where": "east", "text": text})
        assert trouble.text() == "provider east: no answer to GET /limits for 9 s"


def test_limits_are_what_somebody_has_set():
    assert Reason(reasons.NO_ROOM).is_limit and Reason(reasons.TENANT_LIMIT).is_limit
    assert not Reason(reasons.FACTS_UNREAD).is_limit and not Reason(reasons.PROVIDER_TROUBLE).is_limit
    assert set(CODES) >= reasons.LIMITS


def test_a_cause_comes_before_who_does_not_offer_it_and_is_told_alone():
    unknown = Reason(reasons.LABEL_UNKNOWN, {"where": "b/main", "label": "tiny"}).document()
    failed = Reason(reasons.LAUNCH_FAILED, {"where": "a/main", "text": "it broke"}).document()
    large = Reason(
        reasons.TOO_LARGE_FOR_POOL, {"where": "c/main", "resource": "instances", "needed": 4, "left": 2}
    ).document()
    assert reasons.causes_first([unknown, large, failed, unknown]) == [failed, large, unknown]
    assert reasons.cause([unknown, failed]) == failed["text"]
    assert reasons.cause([unknown, large, failed]) == f"{failed['text']}; {large['text']}"
    assert reasons.cause([unknown, unknown]) == unknown["text"]
    assert reasons.cause([]) == ""


def test_large_figures_are_written_out():
    figures = {"where": "east/main", "resource": "ram", "needed": 1048576, "left": 41246720.0}
    assert Reason(reasons.NO_ROOM, figures).text() == "1048576 MiB ram needed, 41246720 left in east/main"
    assert Reason(reasons.AGED, {"age": 2e6, "limit": 1209600}).text().endswith("max-ready-age is 1209600 s")
