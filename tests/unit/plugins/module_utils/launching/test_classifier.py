# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each answer of a cloud has one owner, and a request is never failed for somebody else's fault."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.classifier import (
    COURSES,
    Seen,
    Tries,
    Verdict,
    classify,
    of_broken_create,
    of_error,
    of_no_address,
    of_slow_build,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import (
    ADDRESSES,
    ALLOWED,
    CREATES,
    FAULT,
    HOSTS,
    MEMBERS,
    PLUGGED,
    RULES,
    SUCCESS,
    SUCCESS_THERE,
    ZONE,
    Answer,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.reachability import SIGNS
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudAuthError,
    CloudConflict,
    CloudQuotaRefused,
    CloudRefused,
    CloudUnavailable,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import (
    FLOATING_IPS,
    ORDER,
    UNCOUNTED,
)
from tests.support.seen_contexts import CONTEXTS, FLAGS

SERVERS, FLOATING = "POST /servers", "POST /floatingips"
TOO_LONG = "Invalid input for field/attribute tenant. Value: ttt. 'ttt' is too long"


def test_the_type_decides_before_the_words():
    full = CloudConflict("in no known words", call=FLOATING, status=409, error_type="IpAddressGenerationFailure")
    assert of_error(full) == Verdict(owner.CAPACITY, (FLOATING_IPS,))
    ports = CloudConflict("in no known words", call="POST /ports", status=409, error_type="IpAddressGenerationFailure")
    assert of_error(ports) == Verdict(owner.CAPACITY, (ADDRESSES,))
    unreachable = CloudRefused("?", call=FLOATING, status=404, error_type="ExternalGatewayForFloatingIPNotFound")
    assert of_error(unreachable).owner == owner.LABEL


def test_the_class_of_an_error_decides_first():
    assert of_error(CloudAuthError("no valid host", status=401)).owner == owner.ACCOUNT
    lost = CloudUnavailable("The requested availability zone is not available", call=SERVERS, status=400)
    assert of_error(lost) == Verdict(owner.CLOUD, (ZONE,), "zone")
    assert of_error(CloudQuotaRefused("x", resources=("ram",), call=SERVERS)).resources == ("ram",)
    assert of_error(CloudQuotaRefused("x", call=FLOATING)).resources == (FLOATING_IPS,)


def test_the_name_of_a_provider_is_no_word_of_the_cloud():
    said = "provider no-quota-timed-out: POST /servers was answered with 400: Fixed IP address 1 is already in use"
    assert of_error(CloudRefused(said, call=SERVERS, status=400)).owner == owner.UNKNOWN


def test_a_wrong_field_belongs_to_the_request_if_its_value_came_from_there():
    mine = classify(Answer(SERVERS, 400, "badRequest", TOO_LONG), Seen(from_request=("tenant",)))
    assert mine == Verdict(owner.REQUEST, wrong="tenant")
    assert classify(Answer(SERVERS, 400, "badRequest", TOO_LONG), Seen(from_request=("x",))).owner == owner.LABEL


def test_what_is_there_by_a_new_reading_is_not_for_the_label_to_mend():
    gone = Answer(SERVERS, 400, "", "Flavor 5 could not be found.")
    assert classify(gone, Seen(reread=True)).owner == owner.CLOUD
    twice = Answer(SERVERS, 409, "", "Multiple security_groups found matching 'x'.")
    assert classify(twice, Seen(reread=True)).owner == owner.LABEL


@pytest.mark.parametrize(
    ("signs", "call", "whose"),
    [
        ({}, FAULT, owner.UNKNOWN),
        ({"lasting": True}, FAULT, owner.UNKNOWN),
        ({"same_for_others": True}, FAULT, owner.UNKNOWN),
        ({"same_for_others": True, "lasting": True}, FAULT, owner.IMAGE),
        ({"others_succeed": True}, FAULT, owner.UNKNOWN),
        ({"others_succeed": True, "same_for_others": True}, FAULT, owner.IMAGE),
        ({"others_succeed": True, "lasting": True}, FAULT, owner.IMAGE),
        ({"persistent": True}, FAULT, owner.IMAGE),
        ({"same_for_all": True, "lasting": True, "same_for_others": True}, FAULT, owner.CLOUD),
        ({"elsewhere": True, "others_succeed": True}, FAULT, owner.LABEL),
        ({"elsewhere": True}, FAULT, owner.UNKNOWN),
        ({"label_succeeds": True, "lasting": True}, FAULT, owner.UNKNOWN),
        ({"label_succeeds": True, "lasting": True}, SERVERS, owner.REQUEST),
        ({"label_succeeds": True}, SERVERS, owner.UNKNOWN),
        ({"others_succeed": True, "lasting": True}, SERVERS, owner.LABEL),
        ({"same_for_others": True, "lasting": True}, SERVERS, owner.LABEL),
        ({"persistent": True}, FLOATING, owner.LABEL),
        ({"one_tenant": True, "same_for_others": True, "others_succeed": True}, SERVERS, owner.UNKNOWN),
        ({"one_tenant": True, "same_for_others": True, "lasting": True}, SERVERS, owner.UNKNOWN),
        ({"one_tenant": True, "others_succeed": True, "lasting": True}, SERVERS, owner.REQUEST),
        ({"one_tenant": True, "elsewhere": True, "others_succeed": True}, SERVERS, owner.REQUEST),
        ({"one_tenant": True, "persistent": True}, SERVERS, owner.REQUEST),
        ({"one_tenant": True, "same_for_others": True, "lasting": True}, FAULT, owner.IMAGE),
    ],
)
def test_what_no_rule_knows_needs_a_second_sign(signs, call, whose):
    assert classify(Answer(call, 400, "", "in no known words"), Seen(**signs)).owner == whose


@pytest.mark.parametrize(
    "text",
    [
        "The requested availability zone is not available",
        "Availability zone 'az9' is invalid",
        "availability_zone az9 has been disabled",
        "Zone az9 was closed",
        "no such zone",
    ],
)
def test_a_zone_is_known_in_whatever_words(text):
    answer = Answer(SERVERS, 400, "badRequest", text)
    assert classify(answer).names == "zone"
    assert classify(answer, Seen(reread=True)).resources == (ZONE,)
    field = Answer(SERVERS, 400, "", "Invalid input for field/attribute availability_zone. Value: a:b:c. too many")
    assert classify(field).wrong == "availability_zone"


def test_while_another_zone_may_accept_the_create_nobody_fails():
    for signs in (Seen(same_for_others=True, lasting=True), Seen(label_succeeds=True, lasting=True)):
        seen = replace(signs, zones_left=True)
        assert classify(Answer(SERVERS, 400, "", "odd"), seen).owner == owner.UNKNOWN
        assert classify(Answer(SERVERS, 403, "", "odd"), seen).owner == owner.UNKNOWN
    assert classify(Answer(SERVERS, 400, "", "odd"), Seen(zones_left=True, persistent=True)).owner == owner.LABEL


@pytest.mark.parametrize(
    ("signs", "whose"),
    [
        ({}, owner.CLOUD),
        ({"persistent": True, "same_for_others": True}, owner.CLOUD),
        ({"others_succeed": True, "lasting": True}, owner.UNKNOWN),
        ({"others_succeed": True, "persistent": True}, owner.LABEL),
        ({"label_succeeds": True, "persistent": True}, owner.REQUEST),
    ],
)
def test_a_create_over_which_nova_breaks_is_its_own_fault_only_while_others_are_served_for_long(signs, whose):
    assert of_broken_create(Seen(**signs)).owner == whose


@pytest.mark.parametrize(
    ("signs", "slow", "without_address"),
    [
        ({}, owner.IMAGE, owner.NETWORK),
        ({"label_succeeds": True}, owner.UNKNOWN, owner.UNKNOWN),
        ({"same_for_all": True}, owner.CLOUD, owner.NETWORK),
        ({"same_for_all": True, "others_succeed": True}, owner.IMAGE, owner.NETWORK),
    ],
)
def test_a_server_that_does_not_become_usable_blames_its_image_if_it_alone_does_not(signs, slow, without_address):
    assert of_slow_build(Seen(**signs)).owner == slow
    assert of_no_address(Seen(**signs)).owner == without_address


KINDS = (*ORDER, UNCOUNTED, HOSTS, ADDRESSES, PLUGGED, ALLOWED, CREATES, SUCCESS, SUCCESS_THERE, ZONE, MEMBERS)
BODIES = st.one_of(
    st.text(max_size=200),
    st.sampled_from([rule.words for rule in RULES]).flatmap(lambda words: st.from_regex(words or "x", fullmatch=False)),
)
ANSWERS = st.builds(
    Answer,
    call=st.sampled_from([SERVERS, FLOATING, "POST /ports", "GET /ports", FAULT, ""]),
    status=st.one_of(st.none(), st.integers(100, 599)),
    error_type=st.one_of(
        st.text(max_size=30), st.sampled_from(sorted({kind for rule in RULES for kind in rule.types} | {"forbidden"}))
    ),
    text=BODIES,
    foreign=st.booleans(),
)


@given(ANSWERS, CONTEXTS)
def test_any_answer_in_any_context_has_one_owner_who_decides_what_follows(answer, seen):
    verdict = classify(answer, seen)
    assert verdict == classify(answer, seen)
    assert verdict.owner in owner.OWNERS
    course = COURSES[verdict.owner]
    assert all(name in KINDS for name in verdict.resources)
    if course.freezes and verdict.owner != owner.ACCOUNT:
        assert verdict.resources, "what is frozen has a name"
    if verdict.owner == owner.REQUEST:
        alone = seen.one_tenant and answer.call == SERVERS
        assert verdict.wrong in seen.from_request or (seen.label_succeeds and seen.lasting) or alone
    if answer.call != FAULT and (answer.status is None or answer.status >= 500):
        assert not course.may_fail, "an API in trouble fails nobody"


@given(ANSWERS, CONTEXTS)
def test_what_no_rule_knows_fails_nobody_without_a_second_sign(answer, seen):
    if any(rule.holds(answer) and rule.owner != owner.UNKNOWN for rule in RULES):
        return
    verdict = classify(answer, seen)
    if not any(getattr(seen, name) for name in FLAGS):
        assert verdict.owner in (owner.UNKNOWN, owner.CLOUD)
    nobody = not (seen.label_succeeds or seen.others_succeed)
    if seen.same_for_all and nobody:
        assert not COURSES[verdict.owner].may_fail, "what fails for everybody is nobody's own"


@given(ANSWERS, CONTEXTS)
def test_requests_of_one_tenant_never_blame_their_label_for_a_refusal_in_unknown_words(answer, seen):
    if not seen.one_tenant or any(rule.holds(answer) and rule.owner != owner.UNKNOWN for rule in RULES):
        return
    assert answer.call != SERVERS or classify(answer, seen).owner != owner.LABEL


@given(ANSWERS, CONTEXTS)
def test_only_a_server_that_was_made_or_words_about_it_blame_the_image(answer, seen):
    known = any(rule.holds(answer) and rule.owner == owner.IMAGE for rule in RULES)
    assert classify(answer, seen).owner != owner.IMAGE or answer.call == FAULT or known


@given(ANSWERS, CONTEXTS)
def test_what_stands_before_a_service_and_calls_that_read_fail_nobody(answer, seen):
    reads, foreign = answer.call.startswith("GET "), answer.foreign and answer.call.startswith("POST ")
    if (not reads and not foreign) or answer.status == 401:
        return
    verdict = classify(answer, seen)
    assert verdict.owner in (owner.CLOUD, owner.ACCOUNT) and ALLOWED not in verdict.resources
    assert verdict.owner == owner.CLOUD or (reads and answer.status in (402, 403))


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (Seen(), Verdict(owner.CLOUD, sent=True)),
        (Seen(same_for_others=True, lasting=True, persistent=True), Verdict(owner.CLOUD, sent=True)),
        (Seen(others_succeed=True, lasting=True, persistent=True), Verdict(owner.CLOUD, sent=True)),
        (Seen(label_succeeds=True, lasting=True, one_tenant=True), Verdict(owner.CLOUD, sent=True)),
        (Seen(same_for_all=True, spared=True), Verdict(owner.CLOUD, sent=True)),
        (Seen(same_for_all=True), Verdict(owner.CLOUD, (SUCCESS,))),
    ],
)
def test_a_firewall_may_forbid_one_create_or_all(seen, verdict):
    assert classify(Answer(SERVERS, 403, "", "No valid host, quota exceeded", foreign=True), seen) == verdict


def test_a_floating_ip_waits_for_a_call_that_is_refused_on_its_way():
    for call, status, whose in (
        ("GET /ports", 403, owner.ACCOUNT),
        ("GET /floatingips", 403, owner.ACCOUNT),
        ("GET /ports", 404, owner.CLOUD),
        ("GET /ports", 400, owner.CLOUD),
    ):
        assert classify(Answer(call, status, "", "odd"), Seen(persistent=True)) == Verdict(whose, (FLOATING_IPS,))
    forbidden = Answer(FLOATING, 403, "PolicyNotAuthorized", "odd")
    assert classify(forbidden, Seen(others_succeed=True, lasting=True)) == Verdict(owner.ACCOUNT, (FLOATING_IPS,))
    page = Answer(FLOATING, 403, "", "odd", foreign=True)
    assert classify(page, Seen(persistent=True)) == Verdict(owner.CLOUD, (FLOATING_IPS,))


def test_every_owner_has_a_course_and_only_three_may_fail_a_request():
    assert set(COURSES) == set(owner.OWNERS)
    assert {name for name, course in COURSES.items() if course.may_fail} == {owner.REQUEST, owner.LABEL, owner.IMAGE}
    assert COURSES[owner.REQUEST].touches == COURSES[owner.UNKNOWN].touches == "nobody"
    assert COURSES[owner.REQUEST].tries is COURSES[owner.LABEL].tries is Tries.ONCE
    assert not COURSES[owner.UNKNOWN].breaker and not COURSES[owner.REQUEST].breaker


def test_the_table_in_the_documentation_is_the_table():
    page = (Path(__file__).parents[5] / "docs/operating.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", page, re.M)
    told = {name: (tries, touches) for name, _sentence, tries, touches in rows if name in owner.OWNERS}
    assert told == {name: (course.tries.value, course.touches) for name, course in COURSES.items()}
    sentences = {name: sentence for name, sentence, _tries, _touches in rows if name in owner.OWNERS}
    assert sentences == owner.SENTENCES
    answers = re.findall(r"^\| (.+?) \| `(\w+)` \|$", page, re.M)
    assert answers == [(row.shows, row.owner) for row in (*RULES, *SIGNS)]


@pytest.mark.parametrize(
    "value",
    [
        "quota exceeded for cores: ",
        "no valid host",
        "image 5 is not active",
        "security group 5 not found",
        "x\nover quota",
    ],
)
def test_a_value_that_nova_repeats_says_nothing_about_the_fault(value):
    text = f"Invalid input for field/attribute tenant. Value: {value}. '{value}' is too long"
    found = classify(Answer(SERVERS, 400, "", text), Seen(from_request=("tenant",)))
    assert found == Verdict(owner.REQUEST, wrong="tenant")


@pytest.mark.parametrize(
    "text", ["Payload Too Large", "Request size limit exceeded", "request body exceeds the limit size", ""]
)
def test_a_proxy_that_refuses_the_size_of_a_create_touches_no_other_label(text):
    assert classify(Answer(SERVERS, 413, "", text)).owner == owner.LABEL


@pytest.mark.parametrize(
    ("text", "seen", "whose"),
    [
        ("Policy doesn't allow os_compute_api:servers:create to be performed.", Seen(), owner.ACCOUNT),
        ("Policy doesn't allow os_compute_api:servers:create:forced_host to be performed.", Seen(), owner.UNKNOWN),
        ("Forbidden", Seen(), owner.UNKNOWN),
        ("Forbidden", Seen(same_for_others=True), owner.ACCOUNT),
        ("Forbidden", Seen(same_for_others=True, one_tenant=True), owner.UNKNOWN),
        ("Forbidden", Seen(same_for_others=True, spared=True), owner.UNKNOWN),
        ("Forbidden", Seen(same_for_all=True), owner.ACCOUNT),
        ("Forbidden", Seen(persistent=True, lasting=True), owner.ACCOUNT),
        ("Forbidden", Seen(forbidden=True), owner.ACCOUNT),
        ("Forbidden", Seen(lasting=True, others_succeed=True), owner.LABEL),
        ("Forbidden", Seen(lasting=True, label_succeeds=True), owner.REQUEST),
    ],
)
def test_a_forbidden_create_is_the_account_s_fault_only_with_a_sign_of_that(text, seen, whose):
    assert classify(Answer(SERVERS, 403, "", text), seen).owner == whose


@pytest.mark.parametrize(
    ("seen", "whose"),
    [
        (Seen(reread=True), owner.CLOUD),
        (Seen(reread=True, lasting=True, others_succeed=True), owner.CLOUD),
        (Seen(reread=True, lasting=True, persistent=True), owner.CLOUD),
        (Seen(reread=True, lasting=True, persistent=True, others_succeed=True, label_succeeds=True), owner.CLOUD),
        (Seen(reread=True, lasting=True, persistent=True, others_succeed=True), owner.LABEL),
    ],
)
def test_a_flavor_that_is_shown_and_cannot_be_used_for_long_is_the_label_s_fault(seen, whose):
    assert classify(Answer(SERVERS, 404, "", "Flavor f2 could not be found."), seen).owner == whose


def test_only_nova_s_own_words_freeze_all_creates():
    text = "Policy doesn't allow os_compute_api:servers:create to be performed."
    assert classify(Answer(SERVERS, 403, "", text)).resources == (CREATES,)
    assert classify(Answer(SERVERS, 403, "", "Forbidden"), Seen(same_for_all=True)).resources == (ALLOWED,)


def test_what_a_unified_limit_says_of_metadata_is_for_the_label_to_mend():
    text = "User 7 is over a limit for [Resource server_metadata_items is over limit of 128 due to current usage 0]"
    assert of_error(CloudQuotaRefused(text, call=SERVERS, status=403)).owner == owner.LABEL
