# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.faults import (
    clean,
    error_from_answer,
    error_without_answer,
    message_of,
    retry_after_seconds,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import LONGEST
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudAuthError,
    CloudConflict,
    CloudError,
    CloudNotFound,
    CloudQuotaRefused,
    CloudRefused,
    CloudUnavailable,
)

NOVA_QUOTA = {
    "forbidden": {"code": 403, "message": "Quota exceeded for instances: Requested 1, but already used 3 of 3"}
}
NEUTRON_QUOTA = {
    "NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['floatingip'].", "detail": ""}
}
CINDER_QUOTA = {
    "overLimit": {"code": 413, "message": "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded"}
}
TOO_FAST = {"overLimit": {"code": 413, "message": "This request was rate-limited.", "details": "Only 10 POST"}}

REPEATS = {
    "badRequest": {
        "message": "Invalid input for field/attribute team. Value: quota exceeded. 'quota exceeded' is too long"
    }
}


def error(status: int, body: object = "", call: str = "POST /servers", **headers: str) -> CloudError:
    text = body if isinstance(body, str) else json.dumps(body)
    return error_from_answer(provider="east", call=call, status=status, body=text, headers=headers)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            401,
            {"error": {"code": 401, "message": "This requires authentication."}},
            CloudAuthError,
        ),
        (403, NOVA_QUOTA, CloudQuotaRefused),
        (403, {"forbidden": {"message": "Policy doesn't allow it."}}, CloudRefused),
        (400, {"badRequest": {"message": "Invalid input for field name."}}, CloudRefused),
        (404, {"itemNotFound": {"message": "Instance x could not be found."}}, CloudNotFound),
        (409, {"conflictingRequest": {"message": "Instance x is locked"}}, CloudConflict),
        (409, NEUTRON_QUOTA, CloudQuotaRefused),
        (413, CINDER_QUOTA, CloudQuotaRefused),
        (400, REPEATS, CloudRefused),
        (413, TOO_FAST, CloudUnavailable),
        (413, "Payload Too Large", CloudRefused),
        (413, {"message": "Request size limit exceeded"}, CloudRefused),
        (429, "Too Many Requests", CloudUnavailable),
        (500, {"computeFault": {"message": "Unexpected API Error."}}, CloudUnavailable),
        (503, "<html><body>503 Service Unavailable</body></html>", CloudUnavailable),
        (302, "", CloudUnavailable),
    ],
)
def test_the_class_follows_status_and_body(status: int, body: object, kind: type[CloudError]) -> None:
    made = error(status, body)
    assert made.__class__ is kind
    assert made.status == status
    assert str(made).startswith(f"provider east: POST /servers was answered with {status}")


def test_the_refused_resources_are_named() -> None:
    assert error(403, NOVA_QUOTA).resources == ("instances",)  # type: ignore[attr-defined]
    assert error(409, NEUTRON_QUOTA, "POST /floatingips").resources == ("floating-ips",)  # type: ignore[attr-defined]
    assert error(413, CINDER_QUOTA).resources == ("volumes",)  # type: ignore[attr-defined]


def test_a_listing_is_never_refused_for_quota() -> None:
    assert error(403, NOVA_QUOTA, "GET /servers/detail").__class__ is CloudRefused


SQUID = "<html><head><title>ERROR</title></head><body><p>Access Denied.</p></body></html>"


@pytest.mark.parametrize("call", ["GET /servers/detail", "GET /networks", "GET /volume/limits"])
def test_a_page_that_forbids_to_read_is_of_what_stands_before_the_service(call: str) -> None:
    """nova, neutron and cinder refuse in JSON: the account is not to blame."""
    made = error(403, SQUID, call)
    assert made.__class__ is CloudUnavailable and made.status is None and not made.unclear
    assert "was answered with 403 by a page, so not by " in str(made) and "Access Denied" in str(made)
    assert "check the proxies on the way to the cloud" in str(made)


BEFORE = {
    "squid": SQUID,
    "haproxy": "<html><body><h1>403 Forbidden</h1>\nRequest forbidden by administrative rules.\n</body></html>\n",
    "apache": (
        '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n<title>403 Forbidden</title>\n</head>'
        "<body>\n<h1>Forbidden</h1>\n<p>You don't have permission to access this resource.</p>\n</body></html>\n"
    ),
    "nginx": "<html>\r\n<head><title>403 Forbidden</title></head>\r\n<body>\r\n<center>nginx</center></body></html>",
    "f5": (
        "<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Your support ID is: 7"
        "<br></body></html>"
    ),
    "quota of a proxy": "<html><body>Your quota is exceeded. Access Denied.</body></html>",
    "xml": '<?xml version="1.0"?><error>Forbidden</error>',
    "envoy": "RBAC: access denied",
    "traefik": "Forbidden",
    "nothing": "",
}


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 406, 409, 418, 451])
@pytest.mark.parametrize("body", BEFORE.values(), ids=BEFORE)
def test_what_stands_before_nova_refuses_a_create_in_its_own_name(body: str, status: int) -> None:
    made = error(status, body)
    assert made.__class__ is CloudRefused and made.foreign and made.status == status and not made.unclear
    assert f"POST /servers was answered with {status}" in str(made)
    assert "so not by nova but by what stands before it" in str(made)
    assert "check the proxies on the way to the cloud" in str(made)


@pytest.mark.parametrize("call", ["DELETE /servers/{id}", "DELETE /floatingips/{id}", "GET /servers/{id}"])
@pytest.mark.parametrize("body", [*BEFORE.values(), "404 page not found"])
def test_what_stands_before_a_service_does_not_know_that_something_is_gone(body: str, call: str) -> None:
    assert error(404, body, call).__class__ is CloudUnavailable
    assert error(404, body, call, **{"x-openstack-request-id": "req-1"}).__class__ is CloudNotFound


@pytest.mark.parametrize("name", ["x-openstack-request-id", "x-compute-request-id"])
def test_an_answer_that_names_the_request_is_of_the_service_in_whatever_form(name: str) -> None:
    for call in ("POST /servers", "GET /servers/detail"):
        made = error(403, SQUID, call, **{name: "req-1"})
        assert made.__class__ is CloudRefused and not made.foreign and "Access Denied" in str(made)


@pytest.mark.parametrize(
    "body",
    [
        {"forbidden": {"code": 403, "message": "Policy doesn't allow it."}},
        {"NeutronError": {"type": "PolicyNotAuthorized", "message": "no", "detail": ""}},
        {"error": {"code": "Ecs.0000", "message": "Policy doesn't allow it."}},
    ],
)
def test_json_is_taken_at_its_word_also_where_headers_are_left_out_on_the_way(body: object) -> None:
    assert not error(403, body).foreign and not error(403, body, "POST /floatingips").foreign


def test_a_body_that_is_too_large_for_a_proxy_is_for_its_sender_to_mend() -> None:
    made = error(413, "<html><body><h1>413 Request Entity Too Large</h1></body></html>")
    assert not made.foreign and made.__class__ is CloudRefused


def test_a_token_is_refused_by_keystone_s_middleware_alone() -> None:
    assert error(401, "Authentication required", **{"WWW-Authenticate": 'Keystone uri="x"'}).__class__ is CloudAuthError
    assert error(401, "<html>401 Authorization Required</html>", "GET /limits").__class__ is CloudUnavailable


def test_a_page_of_glance_is_taken_at_its_word() -> None:
    """glance refuses by pages itself."""
    for call in ("GET /images", "GET /tasks", "GET /info/import", "GET /object-store"):
        made = error(403, SQUID, call)
        assert made.__class__ is CloudRefused and made.status == 403


@pytest.mark.parametrize(
    ("status", "call", "unclear"),
    [
        (500, "POST /servers", True),
        (503, "DELETE /servers/{id}", True),
        (500, "GET /limits", False),
        (429, "POST /servers", False),
        (403, "POST /servers", False),
    ],
)
def test_only_a_failed_change_is_unclear(status: int, call: str, unclear: bool) -> None:
    assert error(status, "", call).unclear is unclear


def test_no_answer_is_unclear_when_the_request_was_sent() -> None:
    assert error_without_answer(provider="e", call="POST /servers", what="no answer", sent=True).unclear
    assert error_without_answer(provider="e", call="DELETE /ports/{id}", what="no answer", sent=True).unclear
    assert not error_without_answer(provider="e", call="POST /servers", what="refused", sent=False).unclear
    assert not error_without_answer(provider="e", call="GET /servers/detail", what="no answer", sent=True).unclear


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"forbidden": {"code": 403, "message": "no"}}', "no"),
        ('{"NeutronError": {"type": "X", "message": "m", "detail": "d"}}', "m"),
        ('{"NeutronError": "in words"}', "in words"),
        ('{"message": "glance says<br />"}', "glance says<br />"),
        ('{"errors": [{"title": "t", "detail": "placement"}]}', "placement"),
        (
            (
                "<html>\n <head>\n  <title>403 Forbidden</title>\n </head>\n <body>\n  <h1>403 Forbidden</h1>\n"
                "  Image x is protected and cannot be deleted.<br /><br />\n </body>\n</html>"
            ),
            "403 Forbidden Image x is protected and cannot be deleted.",
        ),
        ("<html>the pool is away <![foo[bar]]> here</html>", "the pool is away"),
        ("plain\n  words ", "plain words"),
        ('{"forbidden": ', '{"forbidden":'),
        ("[]", ""),
        ("", ""),
        ("null", ""),
    ],
)
def test_the_message_is_found_in_each_services_body(body: str, message: str) -> None:
    assert message_of(body) == message


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_any_body_gives_one_short_line(body: str) -> None:
    text = message_of(body)
    assert len(text.encode()) <= LONGEST
    assert text.isprintable()


def test_of_a_long_message_the_end_is_told():
    said = message_of(json.dumps({"computeFault": {"message": "Unexpected API Error. " + "x" * 560_000 + " Timeout"}}))
    assert said.startswith("Unexpected API Error. xx")
    assert said.endswith("xx Timeout")
    assert len(said.encode()) <= LONGEST


def test_a_secret_in_a_long_message_is_blotted_out():
    said = clean("x " * 300_000 + "the password is hun\nter2 " + "y" * 10, ["hun\nter2"])
    assert "ter2" not in said and said.endswith("is *** yyyyyyyyyy")


@pytest.mark.parametrize(
    "text",
    [
        'echo: {"password": "hunter2geheim", "x": 1}',
        "X-Auth-Token: hunter2geheim",
        "http://admin:hunter2geheim@proxy.example:3128 refused",
        "my own hunter2geheim in words",
        "token=hunter2geheim&x",
    ],
)
def test_secrets_are_blotted_out(text: str) -> None:
    secrets = ["hunter2geheim"] if "own" in text else []
    assert "hunter2geheim" not in clean(text, secrets)
    assert "***" in clean(text, secrets)


def test_fernet_tokens_are_blotted_out() -> None:
    assert "gAAAA" not in clean("bad token gAAAAABk" + "x" * 60)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("Friday, 20-Nov-26 12:00:30 GMT", 30.0),
        ("Fri Nov 20 12:00:30 2026", 30.0),
        ("Fri, 20 Nov 2026 14:00:30 +0200", 30.0),
        ("Fri, 99 Foo 2026 99:00:00 GMT", None),
        ("9" * 400, None),
        ("-3", 0.0),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, lambda: datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)) == seconds


def test_retry_after_reaches_the_error() -> None:
    assert error(429, "", **{"Retry-After": "11"}).retry_after == 11.0
    assert error(503, "", **{"Retry-After": "12"}).retry_after == 12.0


@pytest.mark.parametrize(
    "url", ["http://hans:geheim@cloud:5000/v3", "http://hans:ge@he/im@cloud:5000/v3", "https://geheim@cloud/v3"]
)
def test_a_login_in_an_address_is_not_told(url):
    told = clean(f"Failed to discover available identity versions when contacting {url}. Attempting")
    assert "geheim" not in told and "hans" not in told and "im@" not in told and "cloud" in told
