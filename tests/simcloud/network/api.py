# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Neutron v2.0."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from tests.simcloud.answers import Answer, neutron_error
from tests.simcloud.call import Call
from tests.simcloud.config import Settings
from tests.simcloud.network import views
from tests.simcloud.network.state import NetworkState
from tests.simcloud.paging import BadPage, cut, parse_limit

NOT_FILTERS = frozenset({"limit", "marker", "fields", "page_reverse", "sort_key", "sort_dir"})
NAMES = {
    "networks": ("network", "NetworkNotFound", "Network {} could not be found."),
    "subnets": ("subnet", "SubnetNotFound", "Subnet {} could not be found."),
    "ports": ("port", "PortNotFound", "Port {} could not be found."),
    "floatingips": ("floatingip", "FloatingIPNotFound", "Floating IP {} could not be found"),
    "security-groups": ("security_group", "SecurityGroupNotFound", "Security group {} does not exist"),
    "routers": ("router", "RouterNotFound", "Router {} could not be found"),
}


class NetworkApi:
    """Answers neutron's calls for one cloud."""

    def __init__(self, state: NetworkState, settings: Settings) -> None:
        self._state = state
        self._settings = settings

    @staticmethod
    def versions(root: str) -> Answer:
        """Answer the unversioned root; ``root`` is its URL."""
        links = [{"rel": "self", "href": f"{root}/v2.0/"}]
        return Answer(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]})

    def handle(self, call: Call) -> Answer:
        match call.method, call.path:
            case "GET", []:
                links = [
                    {"name": name, "collection": name, "links": [{"rel": "self", "href": f"{call.root}/{name}"}]}
                    for name in NAMES
                ]
                return Answer(200, {"resources": links})
            case "GET", [collection] if collection in NAMES:
                return self._list(call, collection)
            case "GET", [collection, ident] if collection in NAMES:
                return Answer(200, {NAMES[collection][0]: self._get(collection, ident)})
            case "GET", ["extensions"]:
                return Answer(200, {"extensions": views.extensions()})
            case "GET", ["extensions", alias]:
                return self._extension(alias)
            case "GET", ["quotas", _project, "details.json" | "details"]:
                return Answer(200, {"quota": views.quota(self._state, self._settings)})
            case "GET", ["quotas", _project]:
                quota = views.quota(self._state, self._settings)
                return Answer(200, {"quota": {name: row["limit"] for name, row in quota.items()}})
            case "GET", ["availability_zones"]:
                return Answer(200, {"availability_zones": []})
        if call.method in ("POST", "PUT", "DELETE") and call.path[:1] in (["ports"], ["floatingips"]):
            return self._change(call)
        if call.method in ("POST", "DELETE") and call.path[:1] in (["security-groups"], ["security-group-rules"]):
            return self._change_groups(call)
        raise neutron_error(404, "HTTPNotFound", "The resource could not be found.")

    def _change(self, call: Call) -> Answer:
        match call.method, call.path:
            case "POST", ["ports"]:
                fields = call.document("port")
                port = self._state.create_port(str(fields.get("network_id")), fields)
                return Answer(201, {"port": port})
            case "PUT", ["ports", ident]:
                port = self._get("ports", ident)
                allowed = ("name", "description", "admin_state_up", "security_groups")
                port.update({key: value for key, value in call.document("port").items() if key in allowed})
                return Answer(200, {"port": port})
            case "DELETE", ["ports", ident]:
                self._state.delete_port(self._own("ports", ident))
                return Answer(204)
            case "POST", ["floatingips"]:
                return self._create_floating_ip(call.document("floatingip"))
            case "PUT", ["floatingips", ident]:
                return self._update_floating_ip(self._get("floatingips", ident), call.document("floatingip"))
            case "DELETE", ["floatingips", ident]:
                self._state.delete_floating_ip(self._get("floatingips", ident))
                return Answer(204)
        raise neutron_error(404, "HTTPNotFound", "The resource could not be found.")

    def _change_groups(self, call: Call) -> Answer:
        state = self._state
        match call.method, call.path:
            case "POST", ["security-groups"]:
                name, ident = str(call.document("security_group").get("name", "")), str(uuid.uuid4())
                state.security_groups[ident] = name
                return Answer(201, {"security_group": views.security_group(state, ident, name)})
            case "POST", ["security-group-rules"]:
                fields = call.document("security_group_rule")
                self._get("security-groups", str(fields.get("security_group_id")))
                rule = {"remote_group_id": None, "remote_ip_prefix": None, **fields, "id": str(uuid.uuid4())}
                state.group_rules.setdefault(str(fields["security_group_id"]), []).append(rule)
                return Answer(201, {"security_group_rule": rule})
            case "DELETE", ["security-groups", ident]:
                self._get("security-groups", ident)
                if any(ident in port["security_groups"] for port in state.ports.values()):
                    raise neutron_error(409, "SecurityGroupInUse", f"Security Group {ident} in use.")
                del state.security_groups[ident]
                state.group_rules.pop(ident, None)
                return Answer(204)
        raise neutron_error(404, "HTTPNotFound", "The resource could not be found.")

    def _all(self, collection: str) -> Iterable[dict[str, Any]]:
        state = self._state
        match collection:
            case "networks":
                return [views.network(state, item) for item in state.networks.values()]
            case "subnets":
                return [
                    views.subnet(state, parent, item) for parent in state.networks.values() for item in parent.subnets
                ]
            case "ports":
                return [*state.ports.values(), *views.router_ports(state)]
            case "floatingips":
                return state.floating_ips.values()
            case "routers":
                return [views.router(state)]
        return [views.security_group(state, ident, name) for ident, name in state.security_groups.items()]

    def _get(self, collection: str, ident: str) -> dict[str, Any]:
        direct = {"ports": self._state.ports, "floatingips": self._state.floating_ips}.get(collection)
        found = direct.get(ident) if direct is not None else None
        if found is None:
            found = next((item for item in self._all(collection) if item["id"] == ident), None)
        if found is None:
            _name, kind, message = NAMES[collection]
            raise neutron_error(404, kind, message.format(ident))
        return found

    def _own(self, collection: str, ident: str) -> dict[str, Any]:
        item = self._get(collection, ident)
        if item["device_owner"] == "network:router_interface":
            message = f"Port {ident} cannot be deleted directly via the port API: has device owner router_interface."
            raise neutron_error(409, "ServicePortInUse", message)
        return item

    def _list(self, call: Call, collection: str) -> Answer:
        filters: dict[str, set[str]] = {}
        for key, value in call.query:
            if key not in NOT_FILTERS:
                filters.setdefault(key, set()).add(value)
        chosen: list[dict[str, Any]] = []
        candidates = self._all(collection)
        if collection == "ports" and "device_id" in filters and self._state.router_id not in filters["device_id"]:
            candidates = [port for ident in filters["device_id"] for port in self._state.server_ports(ident)]
        for item in candidates:
            if all(_matches(item, key, values) for key, values in filters.items()):
                chosen.append(item)
        try:
            limit = parse_limit(call.first("limit"), 1 << 30)
            page, more = cut(chosen, lambda item: str(item["id"]), limit, call.first("marker"))
        except BadPage as bad:
            raise neutron_error(400, "BadRequest", f"Bad request: {bad}") from None
        name = collection.replace("-", "_")
        fields = call.all("fields")
        body: dict[str, Any] = {
            name: [{key: item[key] for key in fields if key in item} for item in page] if fields else page
        }
        if more and call.first("limit"):
            query = [(key, value) for key, value in call.query if key != "marker"] + [("marker", page[-1]["id"])]
            body[f"{name}_links"] = [{"rel": "next", "href": f"{call.root}/{collection}?{urlencode(query)}"}]
        return Answer(200, body)

    def _extension(self, alias: str) -> Answer:
        for item in views.extensions():
            if item["alias"] == alias:
                return Answer(200, {"extension": item})
        raise neutron_error(404, "ExtensionNotFound", f"Extension with alias {alias} does not exist")

    def _create_floating_ip(self, fields: dict[str, Any]) -> Answer:
        port = self._get("ports", fields["port_id"]) if fields.get("port_id") else None
        if port is not None:
            fixed = fields.get("fixed_ip_address")
            self._state.refuse_wrong_network(str(fields.get("floating_network_id")))
            self._state.refuse_unreachable(str(fields.get("floating_network_id")), port)
            self._state.refuse_second(str(fields.get("floating_network_id")), port, fixed)
        floating = self._state.create_floating_ip(
            str(fields.get("floating_network_id")), str(fields.get("description") or "")
        )
        if port is None:
            return Answer(201, {"floatingip": floating})
        self._state.associate(floating, port, fields.get("fixed_ip_address"))
        # The agent reports the status later, so the answer to the POST still says DOWN.
        return Answer(201, {"floatingip": {**floating, "status": "DOWN", "revision_number": 0}})

    def _update_floating_ip(self, floating: dict[str, Any], fields: dict[str, Any]) -> Answer:
        before = floating["status"]
        if "description" in fields:
            floating["description"] = fields["description"]
        if "port_id" in fields:
            port = self._get("ports", fields["port_id"]) if fields["port_id"] else None
            self._state.associate(floating, port, fields.get("fixed_ip_address"))
        return Answer(200, {"floatingip": {**floating, "status": before}})


def _matches(item: dict[str, Any], key: str, values: set[str]) -> bool:
    if key == "fixed_ips":
        wanted = {value.partition("=")[2] for value in values if value.startswith("ip_address=")}
        return any(fixed["ip_address"] in wanted for fixed in item.get("fixed_ips", ()))
    if key not in item:
        return key in ("tags", "project_id", "tenant_id")
    value = item[key]
    if isinstance(value, bool):
        return str(value).lower() in {text.lower() for text in values}
    return ("" if value is None else str(value)) in values
