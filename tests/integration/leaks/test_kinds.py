# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each kind of thing that leaks, and what only looks like it."""

from __future__ import annotations

import json
import time
import uuid

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.leftovers import GONE, sweep, verdicts

HOUR = 3600.0


def serve(site: Site) -> str:
    """A node that is there and ready, allocated to a request; its id."""
    request = site.requestor.ask("small")
    site.run()
    return str(site.requestor.nodes_of(request)[0])


def buried(site: Site) -> tuple[str, str]:
    """A node that came and went: its id and that of its server."""
    node_id = serve(site)
    server_id = site.requestor.node(node_id)["external_id"]
    site.requestor.write_node(node_id, state="used")
    site.run()
    assert site.requestor.nodes() == {}
    return node_id, str(server_id)


def test_servers(site: Site, leftovers):
    site.configure()
    somebody = leftovers()
    node_id = serve(site)
    theirs = site.requestor.node(node_id)["external_id"]
    ghost, marked = somebody.server(), somebody.server(mark=f"{GONE}-1-abc")
    second = somebody.server(node_id=node_id, mark=f"{node_id}-1-old")
    other, foreign = somebody.server(provider="nodepool-one"), somebody.server(provider=None)
    result = sweep(site)
    # A ready node that is allocated is nobody's to touch but its requestor's; its second server is.
    assert verdicts(result) == {
        ghost: "deleted",
        marked: "deleted",
        second: "deleted",
        other: "foreign",
        foreign: "foreign",
    }
    eventually(lambda: {server["id"] for server in site.cloud.servers()} == {theirs, other, foreign})
    assert result["counts"]["one"]["server"]["deleted"] == 3
    assert result["counts"]["one"]["server"]["foreign"] == 2
    assert result["changed"] is True
    reasons = {row["id"]: row["reason"] for row in result["things"]}
    assert reasons[ghost] == f"made for node {GONE} of this provider, which no longer exists"
    assert reasons[other] == "belongs to provider nodepool-one"
    assert sweep(site)["changed"] is False


def test_of_nodes_in_anybodys_hands_nothing_goes(site: Site, leftovers):
    """Whatever the state, locked or not: a node that is known and not idle keeps everything that bears its name."""
    site.configure()
    somebody = leftovers()
    for state in ("in-use", "hold", "building", "init", "used", "deleting", "testing"):
        node_id = site.requestor.make_node(state, external_id="other")
        site.requestor.lock(node_id)
        somebody.server(node_id=node_id, mark=f"{node_id}-1-a")
        somebody.floating_ip(somebody.description(f"{node_id}-1-a"))
    held = site.requestor.make_node("hold", external_id="other")
    somebody.server(node_id=held)
    unreadable = site.requestor.make_node("ready")
    site.requestor.put(f"/nodepool/nodes/{unreadable}", b"{broken")
    somebody.server(node_id=unreadable)
    before = somebody.left()
    result = sweep(site)
    assert result["things"] == []
    assert somebody.left() == before


def test_ports(site: Site, leftovers):
    site.configure()
    somebody = leftovers()
    _unused, server_id = buried(site)
    running = serve(site)
    leaked = somebody.port(server_id)
    unproven = somebody.port("11111111-2222-3333-4444-555555555555")
    vip, router = somebody.port("", ""), somebody.port("x", "network:dhcp")
    booting = somebody.port(site.requestor.node(running)["external_id"])
    result = sweep(site)
    assert verdicts(result) == {leaked: "deleted", unproven: "foreign", vip: "foreign"}
    assert leaked not in somebody.left()
    assert {unproven, vip, router, booting} <= somebody.left()


def test_floating_ips(site: Site, leftovers):
    site.configure()
    somebody = leftovers()
    node_id, _unused = buried(site)
    leaked = somebody.floating_ip(somebody.description(f"{GONE}-1-a"))
    other = somebody.floating_ip(somebody.description(f"{GONE}-1-a", "two"))
    unmarked = somebody.floating_ip("of the bastion")
    stranger = somebody.server(provider=None)
    port_id = next(port.id for port in somebody.sdk.network.ports(device_id=stranger))
    attached = somebody.floating_ip(somebody.description(f"{GONE}-2-b"), port_id)
    mark = site.requestor.read(f"/nodepool/stackci/tombstones/one/{node_id}")["marks"][0]
    short = somebody.floating_ip(f"stackci_launch={mark}")
    result = sweep(site, kinds=("floating-ip",))
    assert verdicts(result) == {leaked: "deleted", short: "deleted", other: "foreign", unmarked: "foreign"}
    assert {other, unmarked, attached} <= somebody.left()
    assert leaked not in somebody.left()


def test_floating_ips_of_the_launcher_name_their_provider(site: Site):
    site.configure(provider("one", pool("main", auto_floating_ip=True)))
    site.add_cloud("one", private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True)))
    node_id = serve(site)
    launch = site.requestor.launch(node_id)
    calls = site.cloud.calls("POST /floatingips")
    assert len(calls) == 1 and launch["floating_ip_id"]
    assert sweep(site)["things"] == []


def test_volumes(site: Site, leftovers):
    site.configure(provider("one", pool("main", label("small", boot_from_volume=True, volume_size=1))))
    somebody = leftovers()
    node_id = serve(site)
    (own,) = site.requestor.launch(node_id)["volume_ids"]
    assert own in somebody.left()
    # What nova did not manage to delete with the server.
    leaked, foreign = somebody.volume(), somebody.volume()
    record = site.requestor.launch(node_id)
    site.requestor.put(f"/nodepool/stackci/launches/{node_id}", {**record, "volume_ids": [own, leaked]})
    assert verdicts(sweep(site)) == {leaked: "foreign", foreign: "foreign"}
    site.requestor.write_node(node_id, state="used")
    site.run()
    assert site.requestor.nodes() == {}
    assert verdicts(sweep(site)) == {leaked: "deleted", foreign: "foreign"}
    assert leaked not in somebody.left()
    assert foreign in somebody.left()


def test_images(site: Site, leftovers):
    site.configure()
    somebody = leftovers()
    used, replaced = somebody.image("one", "a" * 32), somebody.image("one", "a" * 32)
    coming, leaked = somebody.image("one", "b" * 32), somebody.image("one", "c" * 32)
    alien, nobody = somebody.image("two"), somebody.image(None)
    snapshot = somebody.image("one", "c" * 32, instance_uuid=str(uuid.uuid4()))
    for build, state, external_id in (("a" * 32, "ready", used), ("b" * 32, "uploading", None)):
        root = f"/nodepool/images/debian/builds/{build}"
        site.requestor.put(root, {"state": "ready", "state_time": time.time()})
        upload = {"state": state, "state_time": time.time(), "external_id": external_id}
        site.requestor.put(f"{root}/providers/one/images/0000000001", upload)
    result = sweep(site)
    assert verdicts(result) == {
        replaced: "deleted",
        leaked: "deleted",
        alien: "foreign",
        nobody: "foreign",
        snapshot: "foreign",
    }
    assert {used, coming, alien, nobody, snapshot} <= somebody.left()
    assert not {replaced, leaked} & somebody.left()


def test_a_launch_record_is_kept_as_long_as_its_server_is_there(site: Site, leftovers):
    site.configure()
    somebody = leftovers()
    ghost = somebody.server(mark=f"{GONE}-1-abc")
    record = {"node_id": GONE, "provider": "one", "pool": "main", "label": "small", "server_id": ghost}
    site.requestor.put(f"/nodepool/stackci/launches/{GONE}", {**record, "mark": f"{GONE}-1-abc"})
    assert verdicts(sweep(site)) == {ghost: "deleted"}
    eventually(lambda: ghost not in somebody.left())
    assert verdicts(sweep(site)) == {GONE: "deleted"}
    assert site.requestor.launch(GONE) is None
    # Its port turns up a little later.
    late = somebody.port(ghost)
    assert verdicts(sweep(site)) == {late: "deleted"}


def test_the_tree(site: Site):
    site.configure()
    requestor = site.requestor
    requestor.put("/nodepool/nodes/0000000050", b"")
    requestor.put("/nodepool/nodes/0000000051/lock", b"")
    requestor.put("/nodepool/nodes/0000000052", b"")
    requestor.lock("0000000052")
    waiting = requestor.ask("small")
    lost = requestor.ask("small", state="pending", state_time=time.time() - HOUR)
    child = requestor.make_node("ready", allocated_to=lost)
    requestor.put("/nodepool/stackci/waits/100-0000009999", {"code": "no-room"})
    requestor.put(f"/nodepool/stackci/waits/{waiting}", {"code": "no-room"})
    over = {"name": "web", "expires_at": time.time() - 5, "sets": [{"request": None, "nodes": ["0000000001"]}]}
    requestor.put("/nodepool/stackci/leases/web", over)
    requestor.put("/nodepool/stackci/leases/db", {**over, "name": "db", "expires_at": time.time() + HOUR})
    result = sweep(site)
    assert verdicts(result) == {
        "0000000050": "deleted",
        "0000000051": "deleted",
        lost: "deleted",
        "waits/100-0000009999": "deleted",
        "leases/web": "deleted",
    }
    assert requestor.children("/nodepool/nodes") == [child, "0000000052"]
    assert (requestor.state(lost), requestor.request(lost)["nodes"]) == ("requested", [])
    assert requestor.node(child)["allocated_to"] is None
    assert requestor.children("/nodepool/stackci/waits") == [waiting]
    assert requestor.children("/nodepool/stackci/leases") == ["db"]
    assert requestor.read("/nodepool/stackci/tree-sightings")["seen"] == {}


def test_request_locks_only_when_they_are_eight_hours_old(site: Site):
    """By the lock directory's mtime, whatever min_age says; the test's clock is ahead."""
    site.configure()
    requestor = site.requestor
    alive = requestor.ask("small")
    for name in ("200-0000007777", alive):
        requestor.put(f"/nodepool/requests-lock/{name}", b"")
    held = requestor.client.Lock("/nodepool/requests-lock/200-0000008888")
    held.acquire()
    assert sweep(site)["things"] == []
    later = 8 * HOUR + 60
    result = sweep(site, ahead=later)
    assert verdicts(result) == {"200-0000007777": "deleted"}
    assert requestor.children("/nodepool/requests-lock") == sorted(["200-0000008888", alive])
    held.release()


def test_a_locked_server_is_reported_with_that_reason(site: Site, leftovers):
    site.configure()
    somebody = leftovers()
    ghost = somebody.server()
    somebody.sdk.compute.lock_server(ghost)
    result = sweep(site)
    (row,) = result["things"]
    assert (row["id"], row["verdict"], result["changed"]) == (ghost, "failed", False)
    assert "locked" in row["answer"]
    (row,) = sweep(site)["things"]
    assert (row["verdict"], row["tries"]) == ("paused", 1)
    assert json.dumps(row)
