# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each answer of a cloud has one owner, and a request is never failed for somebody else's fault."""

from __future__ import annotations

import re
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
    of_fault,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import (
    ADDRESSES,
    ALLOWED,
    CREATES,
    FAULT,
    HOSTS,
    RULES,
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
    INSTANCES,
    ORDER,
    PORTS,
    RAM,
    UNCOUNTED,
    VOLUME_GB,
    VOLUMES,
)

SERVERS, FLOATING = "POST /servers", "POST /floatingips"
NO_FIXED = (
    "Build of instance 1 aborted: Failed to allocate the network(s) with error No fixed IP addresses available for"
    " network: 5, not rescheduling."
)
TOO_LONG = "Invalid input for field/attribute tenant. Value: ttt. 'ttt' is too long"


@pytest.mark.parametrize(
    ("text", "whose", "resources"),
    [
        ("No valid host was found. ", owner.CAPACITY, (HOSTS,)),
        ("No valid host was found. There are not enough hosts available.", owner.CAPACITY, (HOSTS,)),
        ("Insufficient compute resources: Free memory 10 MB < 512 MB.", owner.CAPACITY, (HOSTS,)),
        (NO_FIXED, owner.CAPACITY, (ADDRESSES,)),
        ("No more IP addresses available on network 5.", owner.CAPACITY, (ADDRESSES,)),
        (
            "Build of instance 1 aborted: Failed to allocate the network(s), not rescheduling.",
            owner.NETWORK,
            (ADDRESSES,),
        ),
        ("Binding failed for port 1, please check neutron logs for more information.", owner.NETWORK, (ADDRESSES,)),
        ("Quota exceeded for instances: Requested 1, but already used 6 of 6 instances", owner.CAPACITY, (INSTANCES,)),
        ("Quota exceeded for ram: Requested 512, but already used 9 of 9 ram", owner.CAPACITY, (RAM,)),
        ("Maximum number of ports exceeded", owner.CAPACITY, (PORTS,)),
        ("Quota exceeded, too many servers in group", owner.CAPACITY, (UNCOUNTED,)),
        ("VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded", owner.CAPACITY, (VOLUMES,)),
        ("Exceeded maximum number of retries. Exhausted all hosts available for retrying", owner.UNKNOWN, ()),
        ("No valid host was found. Exceeded max scheduling attempts 3 for instance 1.", owner.UNKNOWN, ()),
        ("Build of instance 1 aborted: Image 7 is unacceptable: Converted to raw, but not raw", owner.IMAGE, ()),
        ("Flavor's disk is too small for requested image.", owner.IMAGE, ()),
        (
            "qemu unexpectedly closed the monitor: cannot set up guest memory: Cannot allocate memory",
            owner.CAPACITY,
            (HOSTS,),
        ),
        ("[Errno 28] No space left on device", owner.CAPACITY, (HOSTS,)),
        ("PCI device request [InstancePCIRequest] failed", owner.CAPACITY, (HOSTS,)),
        (
            "Volume 7 did not finish being created even after we waited 187 seconds or 61 attempts.",
            owner.CAPACITY,
            (VOLUMES,),
        ),
        ("Host 'compute-1' is not mapped to any cell", owner.CLOUD, ()),
        ("Failed to retrieve allocations for resource provider 7", owner.CLOUD, ()),
        ("Security group 7 could not be found.", owner.LABEL, ()),
        ("Timed out waiting for a reply to message ID 7", owner.CLOUD, ()),
        ("Remote error: DBError (pymysql.err.OperationalError)", owner.CLOUD, ()),
        (
            (
                "Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance 1. Last exception:"
                " unable to map backing store for guest RAM: Cannot allocate memory"
            ),
            owner.CAPACITY,
            (HOSTS,),
        ),
        (
            (
                "Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance 1. Last exception:"
                " Binding failed for port 7, please check neutron logs for more information."
            ),
            owner.NETWORK,
            (ADDRESSES,),
        ),
        ("Exceeded maximum number of retries. Last exception: libvirt exploded", owner.UNKNOWN, ()),
        (
            (
                "Build of instance 1 aborted: VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for"
                " quota 'volumes_ssd'."
            ),
            owner.CAPACITY,
            (VOLUMES,),
        ),
        (
            "Build of instance 1 aborted: Requested volume or snapshot exceeds allowed gigabytes_ssd quota.",
            owner.CAPACITY,
            (VOLUME_GB,),
        ),
        (
            (
                "Build of instance 1 aborted: Block Device Mapping is Invalid: Invalid input received: Availability zone"
                " 'az1' is invalid. (HTTP 400)"
            ),
            owner.LABEL,
            (),
        ),
        ("Build of instance 1 aborted: Size of specified image 8GB is larger than volume size 1GB.", owner.LABEL, ()),
        ("Build of instance 1 aborted: Volume type fast could not be found.", owner.LABEL, ()),
        (
            "Build of instance 1 was re-scheduled: Anti-affinity server group policy was violated.",
            owner.CAPACITY,
            (HOSTS,),
        ),
        (
            "CPU set to pin [1] must be a subset of free CPU set [] or CPU set sharing threads",
            owner.CAPACITY,
            (HOSTS,),
        ),
        ("Build of instance 1 aborted: Failure prepping block device.", owner.UNKNOWN, ()),
        ("Connection to keystone host failed: timed out", owner.CLOUD, ()),
        ("Connection to the hypervisor is broken on host", owner.CLOUD, ()),
        ("Compute service of compute-3 is unavailable at this time.", owner.CLOUD, ()),
        ("Virtual interface plugin failed", owner.NETWORK, (ADDRESSES,)),
        ("Disk format vhd is not acceptable", owner.IMAGE, ()),
        ("Host does not support guests with NUMA topology set", owner.IMAGE, ()),
        ("Quota for project 7 could not be found.", owner.UNKNOWN, ()),
        ("libvirt exploded", owner.UNKNOWN, ()),
        ("", owner.UNKNOWN, ()),
    ],
)
def test_the_fault_of_a_server_has_an_owner(text, whose, resources):
    verdict = of_fault(text, 500)
    assert (verdict.owner, verdict.resources) == (whose, resources)


@pytest.mark.parametrize(
    ("status", "text", "whose", "names"),
    [
        (400, "Flavor 5 could not be found.", owner.LABEL, "flavor"),
        (400, "Can not find requested image", owner.IMAGE, "image"),
        (400, "Image 7 is not active.", owner.IMAGE, "image"),
        (400, "Flavor's memory is too small for requested image.", owner.IMAGE, "image"),
        (400, "Network 5 could not be found.", owner.LABEL, "network"),
        (400, "Invalid input for field/attribute uuid. Value: nonet. 'nonet' is not a 'uuid'", owner.LABEL, "network"),
        (403, "It is not allowed to create an interface on external network 5", owner.LABEL, "network"),
        (409, "More than one possible network found. Specify network ID(s)", owner.LABEL, "network"),
        (409, "Multiple security_groups found matching 'x'. Use an ID to be more specific.", owner.LABEL, "group"),
        (400, "Unable to find security_group with name or id 'x'", owner.LABEL, "group"),
        (400, "Invalid key_name provided.", owner.LABEL, "key"),
        (400, "The requested availability zone is not available", owner.LABEL, "zone"),
        (409, "Instance np0000000001 already exists.", owner.US, "name"),
        (403, "Maximum number of metadata items exceeds 128", owner.LABEL, ""),
        (403, "Policy doesn't allow os_compute_api:servers:create to be performed.", owner.ACCOUNT, ""),
        (403, "Quota exceeded for instances: Requested 1, but already used 3 of 3", owner.CAPACITY, ""),
        (400, TOO_LONG, owner.LABEL, ""),
        (400, "Fixed IP address 10.0.0.5 is already in use on instance 7.", owner.UNKNOWN, ""),
        (409, "Port 5 is still in use.", owner.UNKNOWN, ""),
        (404, "The resource could not be found.", owner.UNKNOWN, ""),
        (413, "413 Request Entity Too Large nginx", owner.LABEL, ""),
        (413, "Request is too large.", owner.LABEL, ""),
        (400, "Unable to find flavor", owner.LABEL, "flavor"),
        (400, "User data needs to be valid base 64.", owner.LABEL, ""),
        (400, "Block Device Mapping is Invalid: You specified more local devices than the limit", owner.LABEL, ""),
        (400, "Volume is smaller than the minimum size specified in image metadata.", owner.LABEL, ""),
        (400, "Blank volumes need to have non-zero size", owner.LABEL, ""),
        (403, "Only volume-backed servers are allowed for flavors with zero disk.", owner.LABEL, ""),
        (400, "Instance group 7 could not be found.", owner.LABEL, ""),
        (400, "Duplicate networks (7) are not allowed", owner.LABEL, ""),
        (
            400,
            "Image property hw_cpu_policy is not permitted to override policy set against the flavor",
            owner.IMAGE,
            "image",
        ),
        (400, "The created instance's disk would be too small.", owner.IMAGE, ""),
        (400, "Cannot set cpu thread pinning policy in a non dedicated cpu pinning policy", owner.IMAGE, ""),
        (400, "PCI alias gpu is not defined", owner.IMAGE, ""),
        (400, "CPU and memory allocation must be provided for all NUMA nodes", owner.IMAGE, ""),
        (400, "Machine type 'q35' is not compatible with image jammy (7): x", owner.IMAGE, ""),
        (400, "Not authorized for image 7.", owner.IMAGE, "image"),
        (400, "Keypair zuul not found for user 7", owner.LABEL, "key"),
        (409, "No Unique Match Found.", owner.LABEL, "group"),
        (400, "Unable to automatically allocate a network for project 7", owner.LABEL, "network"),
        (400, "Volume type fast could not be found.", owner.LABEL, ""),
        (400, "Invalid config_drive provided.", owner.LABEL, ""),
        (400, "Block Device 7 is not bootable.", owner.LABEL, ""),
        (413, "Requested volume size 200G is larger than maximum allowed limit 100G.", owner.LABEL, ""),
        (400, "MessagingTimeout: Timed out waiting for a reply to message ID 7", owner.CLOUD, ""),
        (400, "DBConnectionError: (pymysql.err.OperationalError)", owner.CLOUD, ""),
        (402, "Insufficient balance", owner.ACCOUNT, ""),
        (403, "Volume quota exceeded", owner.CAPACITY, ""),
        (403, "Personality file path exceeds maximum 255", owner.UNKNOWN, ""),
        (404, "<html>404 page not found</html>", owner.UNKNOWN, ""),
        (405, "Method Not Allowed", owner.UNKNOWN, ""),
        (406, "Version 2.93 is not supported by the API. Minimum is 2.1 and maximum is 2.90.", owner.UNKNOWN, ""),
        (300, "Multiple Choices", owner.CLOUD, ""),
        (504, "<html>Gateway Time-out</html>", owner.CLOUD, ""),
        (503, "No valid host", owner.CLOUD, ""),
        (429, "too many requests", owner.CLOUD, ""),
        (None, "no answer within 30 s", owner.CLOUD, ""),
        (200, "<html>", owner.CLOUD, ""),
        (418, "I'm a teapot", owner.UNKNOWN, ""),
    ],
)
def test_a_refused_create_has_an_owner(status, text, whose, names):
    verdict = classify(Answer(SERVERS, status, "", text))
    assert (verdict.owner, verdict.names) == (whose, names)


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
    assert of_error(lost).owner == owner.CLOUD
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
    ],
)
def test_what_no_rule_knows_needs_a_second_sign(signs, call, whose):
    assert classify(Answer(call, 400, "", "in no known words"), Seen(**signs)).owner == whose


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


FLAGS = ("reread", "label_succeeds", "others_succeed", "same_for_others", "same_for_all", "elsewhere", "lasting")
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
)
CONTEXTS = st.builds(
    Seen,
    from_request=st.sampled_from([(), ("tenant",)]),
    persistent=st.booleans(),
    **{name: st.booleans() for name in FLAGS},
)


@given(ANSWERS, CONTEXTS)
def test_any_answer_in_any_context_has_one_owner_who_decides_what_follows(answer, seen):
    verdict = classify(answer, seen)
    assert verdict == classify(answer, seen)
    assert verdict.owner in owner.OWNERS
    course = COURSES[verdict.owner]
    assert all(name in (*ORDER, HOSTS, ADDRESSES, CREATES) for name in verdict.resources)
    if course.freezes and verdict.owner != owner.ACCOUNT:
        assert verdict.resources, "what is frozen has a name"
    if verdict.owner == owner.REQUEST:
        assert verdict.wrong in seen.from_request or (seen.label_succeeds and seen.lasting)
    if answer.call != FAULT and (answer.status is None or answer.status >= 500):
        assert not course.may_fail, "an API in trouble fails nobody"


@given(ANSWERS, CONTEXTS)
def test_what_no_rule_knows_fails_nobody_without_a_second_sign(answer, seen):
    if any(rule.holds(answer) and rule.owner != owner.UNKNOWN for rule in RULES):
        return
    verdict = classify(answer, seen)
    if not any(getattr(seen, name) for name in FLAGS) and not seen.persistent:
        assert verdict.owner in (owner.UNKNOWN, owner.CLOUD)
    nobody = not (seen.label_succeeds or seen.others_succeed)
    if seen.same_for_all and nobody:
        assert not COURSES[verdict.owner].may_fail, "what fails for everybody is nobody's own"


@given(ANSWERS, CONTEXTS)
def test_only_a_server_that_was_made_or_words_about_it_blame_the_image(answer, seen):
    known = any(rule.holds(answer) and rule.owner == owner.IMAGE for rule in RULES)
    assert classify(answer, seen).owner != owner.IMAGE or answer.call == FAULT or known


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
