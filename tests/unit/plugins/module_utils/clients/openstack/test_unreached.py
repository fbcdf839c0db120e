# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a cloud was not reached, and what to do."""

from __future__ import annotations

import ssl

import pytest
from urllib3.connection import HTTPConnection
from urllib3.exceptions import MaxRetryError, NewConnectionError

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.unreached import (
    innermost_words,
    unreached,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable

LOGIN = "https://hans:geheim@cloud.example:5000/v3"
KEYSTONE = "https://cloud.example:5000/v3/auth/tokens"
NOVA = "https://nova.example:8774/v2.1/servers"
WHERE = "entry 'one' in clouds.yaml"


def told(problem: BaseException, url: str = KEYSTONE, *, tls: bool = False) -> str | None:
    return unreached(problem, tls, url, WHERE, LOGIN)


def test_a_refused_connection():
    text = told(OSError("[Errno 111] Connection refused"))
    assert text == f"no connection: cloud.example:5000 refused it: check auth_url of {WHERE}, and that the cloud is up"


def test_a_service_of_the_catalog_is_not_blamed_on_the_entry():
    text = told(OSError("[Errno 111] Connection refused"), NOVA)
    assert text == "no connection: nova.example:8774 refused it: check that this service of the cloud is up"


def test_a_name_that_cannot_be_resolved():
    class NameResolutionError(Exception):
        pass

    text = told(NameResolutionError("Failed to resolve"))
    said = "no connection: the name 'cloud.example' cannot be resolved"
    assert text == f"{said}: correct auth_url of {WHERE}, or the DNS resolver of this machine"


class ProxyError(Exception):
    """By its name alone it is known."""


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        ("[Errno 111] Connection refused", "it refused the connection"),
        ("NameResolutionError: Failed to resolve 'proxy'", "its name cannot be resolved"),
        ("Tunnel connection failed: 407 Proxy Authentication Required", "it requires a login (407)"),
        ("Tunnel connection failed: 403 Forbidden", "it does not connect to nova.example:8774 (403 Forbidden)"),
        ("timed out", "it does not answer"),
        ("something new", "it did not forward the call"),
    ],
)
def test_a_proxy_in_trouble_is_named_and_not_the_cloud(cause: str, why: str) -> None:
    text = unreached(ProxyError("Unable to connect to proxy", cause), False, NOVA, WHERE, LOGIN, "proxy.example:3128")
    assert text is not None
    assert text.startswith(
        f"no connection: the proxy proxy.example:3128 on the way to nova.example:8774 cannot be used: {why}: correct"
    )
    assert "https_proxy" in text


@pytest.mark.parametrize("problem", ["Connection refused", "No route to host", "timed out"])
def test_an_internal_address_in_the_catalog_is_told(problem: str) -> None:
    text = told(OSError(problem), "http://10.1.2.3:8774/v2.1/servers")
    assert text is not None and "has this internal address: set 'interface'" in text
    inside = unreached(OSError(problem), False, "http://10.1.2.3:8774/", WHERE, "http://10.1.2.3:5000/v3")
    assert inside is not None and "internal" not in inside


@pytest.mark.parametrize(
    ("words", "said", "remedy"),
    [
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "does not speak TLS", "write http://"),
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)",
            "is not trusted (self-signed certificate)",
            "name its CA in 'cacert'",
        ),
        (
            "certificate verify failed: Hostname mismatch, certificate is not valid for 'a'",
            "is for another name",
            "use that name in auth_url",
        ),
        ("certificate verify failed: certificate has expired (_ssl.c:1)", "has expired", "renew it"),
    ],
)
def test_problems_of_tls(words: str, said: str, remedy: str):
    text = told(ssl.SSLError(1, words), tls=True)
    assert text is not None and text.startswith("no TLS connection: ") and said in text and remedy in text


def test_the_cause_behind_a_problem_is_found():
    outer = RuntimeError("Max retries exceeded")
    outer.__cause__ = OSError("Network is unreachable")
    assert (told(outer) or "").startswith("no connection: there is no route to cloud.example:5000")


def test_an_unknown_problem_is_left_to_others():
    assert told(RuntimeError("something new")) is None


@pytest.mark.parametrize("url", [LOGIN, "http://hans:ge@h/eim@127.0.0.1:1/v3"])
def test_a_login_in_the_address_is_never_told(url: str):
    text = told(OSError("Connection refused"), url)
    assert text is not None and "hans" not in text and "geheim" not in text


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (
            OSError(ValueError("Connection aborted.", ConnectionResetError(104, "Connection reset by peer"))),
            "Connection reset by peer",
        ),
        (OSError(ValueError("Connection aborted.", OSError("Remote end closed it"))), "Remote end closed it"),
        (
            OSError(ValueError("_Pool(host='a', port=1): Read timed out. (read timeout=30.0)")),
            "Read timed out. (read timeout=30.0)",
        ),
        (
            OSError(MaxRetryError(None, "/", NewConnectionError(HTTPConnection("a"), "no new connection: refused"))),
            "no new connection: refused",
        ),
        (OSError("Connection broken: x"), "Connection broken: x"),
        (OSError(), "OSError"),
    ],
)
def test_of_what_the_libraries_say_the_cause_is_told_alone(problem, words):
    assert innermost_words(problem) == words


@pytest.mark.parametrize("status", [401, 403])
def test_a_page_instead_of_keystones_answer_is_no_refused_account(cloud, make_client, status) -> None:
    page = "<html><head><title>Squid</title></head><body>Access denied</body></html>"
    cloud.on("POST", "/v3/auth/tokens", (status, page))
    with pytest.raises(CloudUnavailable, match=f"answered with {status} by a page.+check auth_url of entry 'east'"):
        make_client().limits()
