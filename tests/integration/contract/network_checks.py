# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Neutron: networks, ports, floating IPs and quota."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.integration.contract.harness import Lab, check, refusal, shape

NOBODY = "11111111-2222-3333-4444-555555555555"
WANTED_EXTENSIONS = ("external-net", "quota_details", "router", "security-group", "standard-attr-description")


@check
def things(lab: Lab) -> Iterator[tuple[str, Any]]:
    for name in ("private", "public"):
        rows = lab.call("network", "GET", f"/networks?name={name}").json()["networks"]
        yield f"network: {name}", [len(rows), shape(rows[0]), rows[0]["router:external"]]
    external = lab.call("network", "GET", "/networks?router:external=True").json()["networks"]
    yield "network: external ones", [row["name"] for row in external]
    for collection in ("subnets", "routers"):
        body = lab.call("network", "GET", f"/{collection}").json()
        yield f"network: {collection}", shape(body)
    groups = lab.call("network", "GET", "/security-groups").json()["security_groups"]
    yield "network: security group", sorted(key for key in groups[0] if key != "security_group_rules")
    aliases = {row["alias"] for row in lab.call("network", "GET", "/extensions").json()["extensions"]}
    yield "network: extensions", [alias for alias in WANTED_EXTENSIONS if alias in aliases]
    yield "network: no such port", refusal(lab.call("network", "GET", f"/ports/{NOBODY}"))
    yield "network: no such path", refusal(lab.call("network", "GET", "/nonsense"))
    yield "network: no such floating IP", refusal(lab.call("network", "DELETE", f"/floatingips/{NOBODY}"))


@check
def ports(lab: Lab) -> Iterator[tuple[str, Any]]:
    ident = lab.post_server("ports").json()["server"]["id"]
    lab.wait_active(ident)

    def active() -> list[dict[str, Any]]:
        found = lab.call("network", "GET", f"/ports?device_id={ident}").json()["ports"]
        return found if found and found[0]["status"] == "ACTIVE" else []

    port = lab.wait("an ACTIVE port", active)[0]
    owner, _colon, zone = port["device_owner"].partition(":")
    assert zone == lab.server(ident)["OS-EXT-AZ:availability_zone"]
    yield "port: of a server", [shape(port), owner]
    two = lab.call("network", "GET", f"/ports?device_id={ident}&device_id={NOBODY}&fields=id").json()["ports"]
    yield "port: listed by two servers", [shape(two), len(two)]
    down = lab.call("network", "GET", f"/ports?device_id={ident}&status=DOWN").json()["ports"]
    yield "port: filter by status", down
    yield from _floating(lab, ident, port)
    lab.delete_server(ident)
    yield "port: gone with its server", lab.call("network", "GET", f"/ports?device_id={ident}").json()
    made = lab.call("network", "POST", "/ports", json={"port": {"network_id": lab.network.id, "name": "contract"}})
    yield "port: made by hand", [made.status_code, shape(made.json()), made.json()["port"]["status"]]
    yield "port: deleted", lab.call("network", "DELETE", f"/ports/{made.json()['port']['id']}").status_code
    wrong = lab.call("network", "POST", "/ports", json={"port": {"network_id": NOBODY}})
    yield "port: on an unknown network", refusal(wrong)


def _floating(lab: Lab, server_id: str, port: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    fields = {"floating_network_id": lab.public.id, "port_id": port["id"], "description": "contract"}
    made = lab.call("network", "POST", "/floatingips", json={"floatingip": fields})
    floating = made.json()["floatingip"]
    yield "floating IP: made", [made.status_code, shape(floating), floating["status"]]
    path = f"/floatingips/{floating['id']}"
    shown = lab.wait(
        "an ACTIVE floating IP",
        lambda: [row for row in [lab.call("network", "GET", path).json()["floatingip"]] if row["status"] == "ACTIVE"],
    )[0]
    assert shown["fixed_ip_address"] == port["fixed_ips"][0]["ip_address"]

    def address() -> list[dict[str, Any]]:
        rows = [row for rows in lab.server(server_id)["addresses"].values() for row in rows]
        return [row for row in rows if row["OS-EXT-IPS:type"] == "floating"]

    row = lab.wait("the floating address", address)[0]
    assert row["addr"] == floating["floating_ip_address"] and row["OS-EXT-IPS-MAC:mac_addr"] == port["mac_address"]
    yield "floating IP: at the server", shape(row)
    second = lab.call("network", "POST", "/floatingips", json={"floatingip": fields})
    yield "floating IP: a second for the same address", refusal(second, numbers=True)
    loose = lab.call("network", "PUT", path, json={"floatingip": {"port_id": None}})
    yield "floating IP: taken off", [loose.status_code, shape(loose.json()["floatingip"])]
    lab.wait("a DOWN floating IP", lambda: lab.call("network", "GET", path).json()["floatingip"]["status"] == "DOWN")
    yield "floating IP: deleted", lab.call("network", "DELETE", path).status_code
    yield "floating IP: gone", refusal(lab.call("network", "GET", path))
    wrong = {"floating_network_id": lab.network.id}
    refused = lab.call("network", "POST", "/floatingips", json={"floatingip": wrong})
    yield "floating IP: of an inner network", refusal(refused)


@check
def quota(lab: Lab) -> Iterator[tuple[str, Any]]:
    project = lab.connection.current_project_id
    path = f"/quotas/{project}/details.json"
    before = lab.call("network", "GET", path).json()
    yield "quota: details", shape(before)
    yield "quota: plain", shape(lab.call("network", "GET", f"/quotas/{project}").json())
    port = lab.call("network", "POST", "/ports", json={"port": {"network_id": lab.network.id}}).json()["port"]
    fields = {"floatingip": {"floating_network_id": lab.public.id}}
    floating = lab.call("network", "POST", "/floatingips", json=fields).json()["floatingip"]
    after = lab.call("network", "GET", path).json()
    grown = {name: after["quota"][name]["used"] - before["quota"][name]["used"] for name in ("port", "floatingip")}
    yield "quota: one more of each", grown
    yield "floating IP: unattached", [shape(floating), floating["status"]]
    assert lab.call("network", "DELETE", f"/ports/{port['id']}").status_code == 204
    assert lab.call("network", "DELETE", f"/floatingips/{floating['id']}").status_code == 204
