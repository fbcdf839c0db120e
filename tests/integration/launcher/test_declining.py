# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fails at once and what waits for somebody else; preferred providers and the pools of other launchers."""

from __future__ import annotations

import json

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider


def only_reason(result: dict[str, object], request: str) -> dict[str, str]:
    (failed,) = result["requests"]["failed"]  # type: ignore[index]
    assert failed["id"] == request
    (reason,) = failed["reasons"]
    return dict(reason)


def test_an_unknown_label_fails_at_once(site: Site):
    site.configure()
    request = site.requestor.ask("small", "gigantic")
    reason = only_reason(site.run(), request)
    assert site.requestor.state(request) == "failed"
    assert (reason["code"], reason["label"], reason["where"]) == ("label-unknown", "gigantic", "one/main")
    assert site.cloud.calls("POST /servers") == []


def test_labels_that_no_single_pool_has_fail(site: Site):
    """All nodes of a set come from one pool."""
    site.configure(provider("one", pool("a", label("small")), pool("b", label("large"))))
    request = site.requestor.ask("small", "large")
    result = site.run()
    assert site.requestor.state(request) == "failed"
    assert {reason["code"] for reason in result["requests"]["failed"][0]["reasons"]} == {"label-unknown"}


def test_the_reason_of_a_failure_is_stored_for_whoever_asks(site: Site):
    site.configure()
    request = site.requestor.ask("gigantic")
    site.run()
    document = site.requestor.read(f"/nodepool/stackci/waits/{request}")
    assert document["code"] == "failed"
    assert "gigantic" in document["text"]


def test_a_label_without_an_image_fails(site: Site):
    broken = {"name": "broken", "cloud-image": "nothing", "flavor-name": "small"}
    unbuilt = {"name": "unbuilt", "diskimage": "trixie", "flavor-name": "small"}
    site.configure(
        provider(
            "one",
            pool("main", label("small"), broken, unbuilt),
            cloud_images=[{"name": "debian-12"}, {"name": "nothing", "image-name": "not-in-glance"}],
            diskimages=[{"name": "trixie"}],
        ),
        diskimages=[{"name": "trixie", "elements": ["vm"]}],
    )
    requests = [site.requestor.ask("broken"), site.requestor.ask("unbuilt")]
    good = site.requestor.ask("small")
    result = site.run()
    assert [site.requestor.state(request) for request in requests] == ["failed", "failed"]
    codes = {failed["id"]: failed["reasons"][0]["code"] for failed in result["requests"]["failed"]}
    assert codes == {requests[0]: "label-broken", requests[1]: "no-image"}
    assert site.requestor.nodes_of(good)


def test_an_image_that_is_being_built_makes_wait(site: Site):
    site.configure(
        provider(
            "one",
            pool("main", {"name": "small", "diskimage": "trixie", "flavor-name": "small"}),
            diskimages=[{"name": "trixie"}],
        ),
        diskimages=[{"name": "trixie", "elements": ["vm"]}],
    )
    requestor = site.requestor
    build = "/nodepool/images/trixie/builds/0123456789abcdef0123456789abcdef"
    requestor.put(build, {"state": "building", "state_time": 1.0, "builder": "b", "builder_id": "b"})
    builds = requestor.client.Lock("/nodepool/images/trixie/builds/lock")
    assert builds.acquire(timeout=10)
    request = requestor.ask("small")
    external = next(key for key, image in site.cloud.state()["images"].items() if image["name"] == "ubuntu")
    with site.stay():
        requestor.wait_until_waiting(request, "image-building")
        assert requestor.state(request) == "requested"
        requestor.put(
            f"{build}/providers/one/images/0000000001",
            {"state": "ready", "state_time": 2.0, "external_id": external, "external_name": "x", "format": "qcow2"},
        )
        requestor.wait_for(request)


def test_a_disabled_pool_fails_and_another_serves(site: Site):
    site.configure(provider("one", pool("main", max_servers=0)))
    request = site.requestor.ask("small")
    assert only_reason(site.run(), request)["code"] == "pool-disabled"
    site.configure(provider("one", pool("main", max_servers=0)), provider("two"))
    request = site.requestor.ask("small")
    site.run()
    assert site.requestor.node(site.requestor.nodes_of(request)[0])["provider"] == "two"


def test_a_broken_provider_leaves_requests_to_the_others_and_fails_none(site: Site):
    site.configure(provider("one"), provider("two", pool("main", label("small"), label("huge", flavor_name="large"))))
    site.clouds["two"].fault("* *", "status", status=503)
    served, alone = site.requestor.ask("small"), site.requestor.ask("huge")
    with site.stay() as cycle:
        site.requestor.wait_for(served)
        site.requestor.wait_until_waiting(alone, "provider-trouble")
        assert site.requestor.state(alone) == "requested"
        site.clouds["two"].clear_faults()
        site.requestor.wait_for(alone, seconds=30)
        cycle.end()


def test_a_preferred_provider_is_honoured_even_when_another_has_room(site: Site):
    site.configure(provider("one", pool("main", priority=1)), provider("two", pool("main", max_servers=1)))
    requestor = site.requestor
    requests = [requestor.ask("small", provider="two") for _unused in range(2)]
    with site.stay():
        requestor.wait_for(requests[0])
        requestor.wait_until_waiting(requests[1], "no-room")
        requestor.give_back(*requestor.accept(requests[0]))
        requestor.wait_for(requests[1])
        (node_id,) = requestor.nodes_of(requests[1])
        assert requestor.node(node_id)["provider"] == "two"
    assert site.cloud.servers() == []


def test_an_unknown_preferred_provider_is_ignored(site: Site):
    site.configure()
    request = site.requestor.ask("small", provider="long-gone")
    site.run()
    assert site.requestor.nodes_of(request)


def test_a_preferred_provider_that_lacks_the_label_is_ignored(site: Site):
    site.configure(provider("one"), provider("two", pool("main", label("tiny", flavor_name="small"))))
    request = site.requestor.ask("large", provider="two")
    site.run()
    assert site.requestor.node(site.requestor.nodes_of(request)[0])["provider"] == "one"


def test_a_foreign_pool_with_a_smaller_priority_goes_first_until_it_is_paused(site: Site):
    site.configure()
    requestor = site.requestor
    path = requestor.register_pool("foreign-1", "small", priority=10)
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_until_waiting(request, "foreign-first")
        assert requestor.state(request) == "requested"
        document = requestor.read(path)
        requestor.client.set(path, json.dumps({**document, "paused": True}).encode())
        requestor.wait_for(request)


def test_a_foreign_pool_with_a_larger_priority_or_without_the_label_is_no_hindrance(site: Site):
    site.configure()
    site.requestor.register_pool("foreign-1", "small", priority=200)
    site.requestor.register_pool("foreign-2", "medium", priority=1)
    request = site.requestor.ask("small")
    site.run()
    assert site.requestor.nodes_of(request)


def test_a_foreign_pool_of_the_preferred_provider_goes_first(site: Site):
    site.configure()
    requestor = site.requestor
    requestor.register_pool("foreign-1", "small", provider="elsewhere", priority=100)
    request = requestor.ask("small", provider="elsewhere")
    with site.stay():
        requestor.wait_until_waiting(request, "foreign-first")
        # It declines, as a stock launcher does: then the preference does not count any more.
        document = requestor.request(request)
        requestor.put(f"/nodepool/requests/{request}", {**document, "declined_by": ["foreign-1"], "nodes": []})
        requestor.wait_for(request)
        assert requestor.request(request)["declined_by"] == ["foreign-1"]


def test_a_foreign_pool_that_never_declines_keeps_unknown_labels_pending(site: Site):
    """As in Nodepool: it might serve them yet; we decline for ourselves and do not fail them."""
    site.configure()
    requestor = site.requestor
    path = requestor.register_pool("foreign-1", "exotic")
    request = requestor.ask("exotic")
    other = requestor.ask("small")
    with site.stay():
        requestor.wait_for(other)
        assert requestor.state(request) == "requested"
        # Its launcher may only be restarting. When it has declined, nobody is left.
        requestor.client.delete(path)
        later = requestor.ask("small")
        requestor.wait_for(later)
        document = requestor.request(request)
        assert document["state"] == "requested"
        requestor.put(f"/nodepool/requests/{request}", {**document, "declined_by": ["foreign-1"], "nodes": []})
        requestor.wait_for(request, "failed")


def test_we_fail_what_everybody_has_declined(site: Site):
    site.configure()
    requestor = site.requestor
    requestor.register_pool("foreign-1", "exotic")
    request = requestor.ask("exotic", declined_by=["foreign-1"], nodes=[])
    site.run()
    document = requestor.request(request)
    assert document["state"] == "failed"
    assert document["declined_by"][0] == "foreign-1" and len(document["declined_by"]) == 2


def test_a_request_that_our_pool_declined_is_left_alone(site: Site):
    site.configure()
    requestor = site.requestor
    requestor.register_pool("foreign-1", "gigantic")
    with site.stay() as cycle:
        eventually(cycle.acts)
        (name,) = [
            name
            for name in requestor.children("/nodepool/components/pool")
            if not name.startswith(("other", "stackci-"))  # the host's name; ours also lasts under another one
        ]
        ours = requestor.read(f"/nodepool/components/pool/{name}")["id"]
        request = requestor.ask("small", declined_by=[ours], nodes=[])
        later = requestor.ask("small")
        requestor.wait_for(later)
        assert requestor.state(request) != "pending"
        assert requestor.request(request)["declined_by"] == [ours]
