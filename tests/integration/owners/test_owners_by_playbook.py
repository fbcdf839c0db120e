# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose fault a failure is, by the real playbook: nobody waits or fails for what somebody else has done."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.launcher_process import LauncherProcess

TENANT = {"dynamic_instance_properties": {"tenant": "{request.tenant_name}"}}
SERVED = 90.0
CORRECTED = 45.0
"""Less than the minute for which a mistake is remembered; then a launch tries again whether it is still one."""
CREATE = "POST /servers"


def playbook(site: Site) -> LauncherProcess:
    return LauncherProcess(site, forked=True, launcher_duration=600, launcher_until="deadline")


def reason_of(site: Site, request: str) -> dict[str, Any]:
    """Why a request has failed: the cause comes before the pools that do not offer its label."""
    site.requestor.wait_for(request, "failed", seconds=SERVED)
    reason, *_others = site.requestor.read(f"/nodepool/stackci/waits/{request}")["reasons"]
    return dict(reason)


def only(name: str, *labels: dict[str, Any], **options: Any) -> dict[str, Any]:
    return provider(name, pool("main", *labels, **options))


@pytest.mark.long
def test_hosts_and_addresses_that_are_used_up_for_a_while_fail_nobody(site: Site):
    """Bare metal that is being cleaned, and a subnet without addresses: each is the only provider of its label."""
    site.add_cloud("one")
    site.add_cloud("two")
    site.configure(
        only("one", label("metal", flavor_name="small")),
        only("two", label("subnet", flavor_name="small")),
    )
    full = "Build of instance 1 aborted: Failed to allocate the network(s) with error No fixed IP addresses available"
    site.clouds["one"].fault(CREATE, "error", seconds=0.3, lasts=15)
    site.clouds["two"].fault(
        CREATE, "error", seconds=0.3, lasts=15, message=f"{full} for network: 5, not rescheduling."
    )
    requestor = site.requestor
    requests = {name: [requestor.ask(name) for _unused in range(4)] for name in ("metal", "subnet")}
    with playbook(site):
        for name, resource in (("metal", "hosts for small"), ("subnet", "addresses in private")):
            told = requestor.wait_until_waiting(requests[name][3], "frozen", seconds=SERVED)
            assert told["owner"] == "capacity" and resource in told["text"]
        for request in (*requests["metal"], *requests["subnet"]):
            requestor.wait_for(request, seconds=SERVED)
    for name in ("one", "two"):
        assert len(site.clouds[name].calls(CREATE)) <= 4 + 6
        assert requestor.read(f"/nodepool/stackci/breakers/{name}") in (None, {})


def test_mistakes_and_changes_cost_only_those_that_they_concern(site: Site):
    """A tenant's long name, a label's user data, a flavor made again under another id, a name that is taken."""
    for name in ("tenants", "flavors", "names"):
        site.add_cloud(name)
    site.configure(
        only("tenants", label("small", **TENANT), label("heavy", flavor_name="small", userdata="x" * 65_536)),
        only("flavors", label("medium")),
        only("names", label("large")),
    )
    site.clouds["names"].settings(unique_names=True)
    site.clouds["names"].outsiders(10, name="np{:010d}", ports=False)
    requestor, flavors = site.requestor, site.clouds["flavors"]
    first = requestor.ask("medium")
    with playbook(site):
        bad = [requestor.ask("small", tenant_name="t" * 300) for _unused in range(3)]
        heavy = [requestor.ask("heavy") for _unused in range(3)]
        good = requestor.ask("small", tenant_name="good")
        taken = [requestor.ask("large") for _unused in range(2)]
        requestor.wait_for(good, seconds=SERVED)
        for request in bad:
            reason = reason_of(site, request)
            assert reason["owner"] == "request" and "metadata tenant has 300 characters" in reason["text"]
        for request in heavy:
            reason = reason_of(site, request)
            assert reason["owner"] == "label" and "userdata has 87384 characters" in reason["text"]
        requestor.wait_for(first, seconds=SERVED)
        before = len(flavors.calls(CREATE))
        flavors.renew_flavor("medium")
        requests = [requestor.ask("medium") for _unused in range(10)]
        for request in (*requests, *taken):
            requestor.wait_for(request, seconds=SERVED)
        eventually(lambda: requestor.read("/nodepool/stackci/breakers/flavors") in (None, {}))
    assert len(site.clouds["tenants"].calls(CREATE)) == 1
    assert len(flavors.calls(CREATE)) - before <= 10 + 4
    assert len(site.clouds["names"].calls(CREATE)) == 4


def test_a_correction_of_a_label_ends_what_its_mistake_has_caused(site: Site):
    """Also for a mistake that only nova knows."""
    site.configure(only("one", label("small", instance_properties={"team": "ci"})))
    text = "Invalid input for field/attribute team. Value: ci. 'ci' is not allowed here"
    fault = site.cloud.fault(CREATE, "status", status=400, message=text)
    requestor = site.requestor
    with playbook(site):
        bad = requestor.ask("small")
        reason = reason_of(site, bad)
        assert (reason["owner"], site.cloud.struck(fault)) == ("label", 1)
        again = requestor.ask("small")
        assert reason_of(site, again)["code"] == "label-broken" and site.cloud.struck(fault) == 1
        site.cloud.clear_faults()
        site.configure(only("one", label("small", instance_properties={"team": "qa"})))
        assert eventually(lambda: _served(site, requestor.ask("small")), CORRECTED, lambda _seconds: time.sleep(0.5))
        assert requestor.read("/nodepool/stackci/breakers/one") in (None, {})


def _served(site: Site, request: str) -> bool:
    """Whether the request is served; one that comes before the correction was read fails."""
    eventually(lambda: site.requestor.state(request) in ("fulfilled", "failed"))
    return site.requestor.state(request) == "fulfilled"
