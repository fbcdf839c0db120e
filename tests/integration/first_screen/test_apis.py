# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API in trouble: the first screen names the cause, its owner and the remedy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.first_screen import PATIENCE, Trouble, ask_long_ago, assert_named_while_a_launcher_works
from tests.support.launcher_case import Site, label, pool, provider

NEUTRON = ("GET /networks*", "GET /ports*", "GET /quotas*", "GET /network*", "GET /floatingips*")
GLANCE = ("GET /images*", "GET /image*")
CINDER = ("* /volume*",)
PAGE = "<html><head><title>ERROR: The requested URL could not be retrieved</title></head><body>Squid</body></html>"
POLICY = {"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:limits to be performed."}}


def away(site: Site, *kinds: str) -> None:
    for kind in kinds:
        site.cloud.fault(kind, "status", status=503)
    site.requestor.ask("small")


def all_answers_are_503(site: Site) -> None:
    away(site, "*")


def nothing_answers(site: Site) -> None:
    site.cloud.fault("*", "hang")
    site.requestor.ask("small")


def a_proxy_answers(site: Site) -> None:
    site.cloud.fault("*", "status", status=403, page=PAGE)
    site.requestor.ask("small")


def a_firewall_answers_the_creates(site: Site) -> None:
    site.cloud.fault("POST /servers", "status", status=403, page=PAGE)
    ask_long_ago(site)


def a_proxy_answers_the_login(site: Site) -> None:
    site.cloud.fault("POST /auth/tokens", "status", status=403, page=PAGE)
    site.cloud.revoke_tokens()
    site.requestor.ask("small")


def the_answers_are_no_json(site: Site) -> None:
    site.cloud.fault("GET *", "garbage")
    site.requestor.ask("small")


def the_password_was_changed(site: Site) -> None:
    site.cloud.settings(password="another")
    site.cloud.revoke_tokens()
    site.requestor.ask("small")


def keystone_alone_is_away(site: Site) -> None:
    site.cloud.fault("POST /auth/tokens", "status", status=503)
    site.cloud.revoke_tokens()
    site.requestor.ask("small")


def nova_refuses_the_tokens(site: Site) -> None:
    site.cloud.fault("GET /servers/detail", "status", status=401)
    site.requestor.ask("small")


def of_an_account_without_limits(site: Site) -> None:
    """From the beginning, so that no request is served by the limits of a moment ago."""
    site.configure(provider("one"))
    site.cloud.fault("GET /limits", "status", status=403, body=POLICY)


def a_policy_forbids_the_limits(site: Site) -> None:
    site.requestor.ask("small")


def neutron_alone_is_away(site: Site) -> None:
    away(site, *NEUTRON)


def glance_alone_is_away(site: Site) -> None:
    away(site, *GLANCE)


def of_volumes_without_cinder(site: Site) -> None:
    """It is asked for limits alone: away from the beginning, so that no request is served by those of a moment ago."""
    site.configure(provider("one", pool("main", label("small", boot_from_volume=True, volume_size=10))))
    for kind in CINDER:
        site.cloud.fault(kind, "status", status=503)


def cinder_alone_is_away(site: Site) -> None:
    site.requestor.ask("small")


def some_calls_have_failed(site: Site) -> None:
    """Each single one is got over, so nothing else is wrong afterwards."""
    for kind in ("GET /servers/detail", "GET /flavors/detail", "GET /images*", "GET /networks*"):
        site.cloud.fault(kind, "status", status=503, count=2)
    site.requestor.wait_for(site.requestor.ask("small"), seconds=PATIENCE)


TROUBLES: dict[Callable[[Site], None], Trouble] = {
    all_answers_are_503: Trouble(("one", "503", "[owner: cloud]"), "tell the operators of the cloud"),
    nothing_answers: Trouble(("one", "no answer", "[owner: cloud]"), "tell the operators of the cloud"),
    a_proxy_answers: Trouble(("one", "by a page, so not by", "Squid", "[owner: cloud]"), "tell the operators"),
    a_firewall_answers_the_creates: Trouble(
        ("POST /servers was answered with 403 by a page, so not by nova", "Squid", "[owner: cloud]"),
        "see what one of them waits for",
    ),
    a_proxy_answers_the_login: Trouble(
        ("POST /auth/tokens", "Squid", "proxies on the way", "[owner: cloud]"), "tell the operators"
    ),
    the_answers_are_no_json: Trouble(("one", "is not JSON", "[owner: cloud]"), "tell the operators of the cloud"),
    the_password_was_changed: Trouble(("one", "401", "[owner: account]"), "in clouds.yaml: its password"),
    keystone_alone_is_away: Trouble(("one", "503", "[owner: cloud]"), "tell the operators of the cloud"),
    nova_refuses_the_tokens: Trouble(("nova refuses its token", "[owner: cloud]"), "tell the operators of the cloud"),
    a_policy_forbids_the_limits: Trouble(
        ("GET /limits", "allow the account to call it", "[owner: account]"),
        "its rights",
        begin=of_an_account_without_limits,
    ),
    neutron_alone_is_away: Trouble(("neutron", "503", "[owner: cloud]"), "tell the operators of the cloud"),
    glance_alone_is_away: Trouble(("glance", "503", "[owner: cloud]"), "tell the operators of the cloud"),
    cinder_alone_is_away: Trouble(
        ("cinder", "503", "[owner: cloud]"), "tell the operators", begin=of_volumes_without_cinder
    ),
    some_calls_have_failed: Trouble(("one", "of the last hour failed"), "show the operators of the cloud which calls"),
}


@pytest.mark.parametrize("make", TROUBLES, ids=lambda make: make.__name__)
def test_it_is_named(site: Site, make: Callable[[Site], None]) -> None:
    assert_named_while_a_launcher_works(site, make, TROUBLES[make])
