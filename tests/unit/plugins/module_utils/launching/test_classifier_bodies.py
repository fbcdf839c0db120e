# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any status, any body as services and proxies send them, any context: one owner, and nobody fails for another's fault.

The bodies go the way of real answers: the client makes an error of them, and the classifier judges that error.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.faults import error_from_answer
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.classifier import (
    COURSES,
    NOTHING_ELSE,
    Seen,
    of_error,
    of_fault,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import FLOATING, RULES, SERVERS
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner
from tests.support.effort import examples
from tests.support.rule_examples import text_of
from tests.support.seen_contexts import CONTEXTS

KNOWN_WORDS = sorted({text_of(rule.words) for rule in RULES if rule.words})
KNOWN_TYPES = sorted({kind for rule in RULES for kind in rule.types})
NOBODY_S = (owner.CAPACITY, owner.NETWORK, owner.CLOUD, owner.US)
"""Owners that are seen in the answer itself: what else is seen changes nothing."""


def nested(kind: str, words: str) -> str:
    """neutron's error as nova repeats it within its own."""
    return json.dumps({"badRequest": {"code": 400, "message": json.dumps(neutron(kind, words))}})


def neutron(kind: str, words: str) -> dict[str, Any]:
    return {"NeutronError": {"type": kind, "message": words, "detail": ""}}


SHAPES = {
    "nova": lambda kind, words: json.dumps({kind or "badRequest": {"code": 400, "message": words}}),
    "neutron": lambda kind, words: json.dumps(neutron(kind, words)),
    "nested": nested,
    "keystone": lambda kind, words: json.dumps({"error": {"code": 400, "title": kind, "message": words}}),
    "page": lambda kind, words: f"<html><head><title>{kind}</title></head><body><h1>{words}</h1></body></html>",
    "text": lambda kind, words: words,
    "list": lambda kind, words: json.dumps([{kind: words}]),
    "null": lambda kind, words: "null",
    "cut": lambda kind, words: json.dumps(neutron(kind, words))[:-3],
    "strange": lambda kind, words: json.dumps({"NeutronError": [kind, {"message": words}]}),
}
WORDS = st.one_of(
    st.sampled_from(KNOWN_WORDS),
    st.text(max_size=80),
    st.builds("{} {} {}".format, st.text(max_size=20), st.sampled_from(KNOWN_WORDS), st.text(max_size=20)),
    st.builds("Exceeded maximum number of retries. Last exception: {}".format, st.sampled_from(KNOWN_WORDS)),
)
KINDS = st.one_of(
    st.sampled_from(KNOWN_TYPES), st.sampled_from(["forbidden", "badRequest", "itemNotFound", ""]), st.text(max_size=20)
)
BODIES = st.builds(lambda shape, kind, words: SHAPES[shape](kind, words), st.sampled_from(sorted(SHAPES)), KINDS, WORDS)
STATUSES = st.one_of(
    st.sampled_from([400, 401, 403, 404, 406, 407, 409, 413, 422, 429, 500, 501, 503]), st.integers(300, 599)
)
HEADERS = st.sampled_from([{}, {"Retry-After": "7"}, {"X-Squid-Error": "ERR_ACCESS_DENIED 0", "Server": "squid"}])
ANSWERS = st.fixed_dictionaries(
    {
        "call": st.sampled_from([SERVERS, FLOATING, "POST /ports", "GET /ports"]),
        "status": STATUSES,
        "body": BODIES,
        "headers": HEADERS,
    }
)


def check(judge: Any, seen: Seen) -> None:
    """Compare the verdict in a context with that of the answer alone."""
    alone, verdict = judge(NOTHING_ELSE), judge(seen)
    assert verdict == judge(seen) and verdict.owner in owner.OWNERS
    course = COURSES[verdict.owner]
    if alone.owner in NOBODY_S:
        assert verdict.owner == alone.owner, "what else is seen makes it nobody else's"
    if verdict.owner == owner.REQUEST:
        named = bool(verdict.wrong) and verdict.wrong in seen.from_request
        assert named or (seen.label_succeeds and seen.lasting) or seen.one_tenant
    if verdict.owner == owner.LABEL and not verdict.wrong and alone.owner != owner.LABEL:
        assert seen.same_for_others or seen.others_succeed or seen.persistent
        assert not seen.label_succeeds, "it works for others of the label"
    if verdict.owner == owner.IMAGE and alone.owner != owner.IMAGE:
        assert seen.same_for_others or seen.others_succeed or seen.persistent
    if alone.owner == owner.UNKNOWN and seen.same_for_all and not (seen.label_succeeds or seen.others_succeed):
        assert not course.may_fail, "what fails for all is nobody's own"
    if course.may_fail:
        assert not course.freezes and verdict.owner in (owner.REQUEST, owner.LABEL, owner.IMAGE)


@given(ANSWERS, CONTEXTS)
@settings(max_examples=examples(800))
def test_any_answer_has_one_owner_in_any_context_and_nobody_fails_for_another_s_fault(answer, seen):
    error = error_from_answer(provider="east", **answer)
    check(lambda context: of_error(error, context), seen)
    status = error.status
    if status is None or status >= 500 or status < 400 or status in (401, 407, 408, 429):
        assert not COURSES[of_error(error, seen).owner].may_fail, "an API in trouble or a login fails nobody"


@given(WORDS, st.one_of(st.none(), st.integers(300, 599)), CONTEXTS)
@settings(max_examples=examples(400))
def test_any_fault_of_a_server_has_one_owner_in_any_context(words, code, seen):
    check(lambda context: of_fault(words, code, context), replace(seen, from_request=()))


@given(ANSWERS)
@settings(max_examples=examples(200))
def test_the_name_of_the_provider_changes_nothing(answer):
    named = (error_from_answer(provider=name, **answer) for name in ("east", "no valid host quota exceeded"))
    one, other = map(of_error, named)
    assert one == other
