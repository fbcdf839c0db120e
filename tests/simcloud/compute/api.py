# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova v2.1."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from tests.simcloud import microversion
from tests.simcloud.answers import Answer, Refusal, html_page, nova_error
from tests.simcloud.call import Call
from tests.simcloud.compute import create, listing, placement
from tests.simcloud.compute.machines import Machines
from tests.simcloud.compute.quota import Usage
from tests.simcloud.compute.server import Server
from tests.simcloud.compute.tenant_usage import tenant_usage
from tests.simcloud.compute.views import ServerViews, limits
from tests.simcloud.config import FlavorConfig, ServerGroupConfig, Settings
from tests.simcloud.microversion import Version
from tests.simcloud.paging import BadPage, cut, parse_limit
from tests.simcloud.timing import iso_micro

UPDATED = "2013-07-23T11:33:21Z"
CELL_DOWN = (
    "Unexpected API Error. Please report this at http://bugs.launchpad.net/nova/ and attach the Nova API log if"
    " possible.\n<class 'nova.exception.NovaException'>"
)


class ComputeApi:
    """Answers nova's calls for one cloud.

    :param console: returns the console of a server, None while it has none.
    """

    def __init__(
        self,
        settings: Settings,
        machines: Machines,
        views: ServerViews,
        around: create.Surroundings,
        keypairs: dict[str, dict[str, Any]],
        console: Callable[[Server], str | None],
        user_id: str,
    ) -> None:
        self._user_id = user_id
        self._settings = settings
        self._machines = machines
        self._views = views
        self._around = around
        self._flavors: Mapping[str, FlavorConfig] = around.flavors
        self._keypairs = keypairs
        self._console = console

    @staticmethod
    def version(root: str) -> dict[str, Any]:
        """Return the document of v2.1, whose URL is ``root``."""
        return {
            "id": "v2.1",
            "status": "CURRENT",
            "version": microversion.text(microversion.MAXIMUM),
            "min_version": microversion.text(microversion.MINIMUM),
            "updated": UPDATED,
            "links": [{"rel": "self", "href": f"{root}/"}],
        }

    @staticmethod
    def versions(root: str) -> Answer:
        """Answer the unversioned root."""
        return Answer(200, {"versions": [ComputeApi.version(root)]})

    @staticmethod
    def discovery(root: str) -> Answer:
        """Answer GET /v2.1/."""
        media = {"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}
        return Answer(200, {"version": {**ComputeApi.version(root), "media-types": [media]}})

    def handle(self, call: Call) -> Answer:
        """Answer a call, with the headers that tell the microversion."""
        try:
            version = microversion.negotiate(call.headers)
        except microversion.BadVersion as bad:
            raise nova_error(bad.status, str(bad)) from None
        headers = {
            "OpenStack-API-Version": f"compute {microversion.text(version)}",
            "X-OpenStack-Nova-API-Version": microversion.text(version),
            "Vary": "OpenStack-API-Version, X-OpenStack-Nova-API-Version",
        }
        try:
            answer = self._route(call, version)
        except Refusal as refusal:
            refusal.answer.headers |= headers
            raise
        answer.headers |= headers
        return answer

    def _route(self, call: Call, version: Version) -> Answer:
        match call.method, call.path:
            case "GET", ["servers", "detail"]:
                return self._list(call, version, detailed=True)
            case "POST", ["servers"]:
                return self._create(call, version)
            case "GET", ["servers", ident]:
                view = self._views.fragment(self._server(ident), version, listed=False)
                return Answer(200, {"server": view})
            case "DELETE", ["servers", ident]:
                self._machines.delete(self._server(ident), call.effects)
                return Answer(204)
            case "GET", ["servers"]:
                return self._list(call, version, detailed=False)
            case "GET", ["limits"]:
                # What is in a cell that does not answer is not counted.
                usage = Usage() if self._settings.cells_down else self._machines.usage
                return Answer(200, limits(self._settings, usage, version))
            case "POST", ["servers", ident, "action"]:
                return self._action(self._server(ident), call.json())
            case "GET", ["servers", ident, "metadata"]:
                return Answer(200, {"metadata": self._server(ident).wish.metadata})
            case "GET", ["servers", ident, "ips"]:
                return Answer(200, {"addresses": self._views.addresses(self._server(ident))})
        return self._route_other(call, version)

    def _route_other(self, call: Call, version: Version) -> Answer:
        match call.method, call.path:
            case "GET", ["flavors"]:
                rows = [
                    {"id": item.id, "name": item.name, "links": self._views.links("flavors", item.id)}
                    for item in self._sorted_flavors()
                ]
                return self._flavor_page(call, rows)
            case "GET", ["flavors", "detail"]:
                return self._flavor_page(call, [self._views.flavor(item, version) for item in self._sorted_flavors()])
            case "GET", ["flavors", ident]:
                return Answer(200, {"flavor": self._views.flavor(self._flavor(ident), version)})
            case "GET", ["flavors", ident, "os-extra_specs"]:
                return Answer(200, {"extra_specs": self._flavor(ident).extra_specs})
            case "GET", ["os-availability-zone"]:
                known = [] if self._settings.cells_down else self._settings.azs
                zones = [{"zoneName": name, "zoneState": {"available": True}, "hosts": None} for name in known]
                return Answer(200, {"availabilityZoneInfo": zones})
            case "GET", ["os-server-groups"]:
                return Answer(200, {"server_groups": [self._group(item, version) for item in self._group_page(call)]})
            case "GET", ["os-keypairs"]:
                return Answer(200, {"keypairs": [_keypair(row, version) for row in self._keypairs.values()]})
            case "GET", ["os-keypairs", name]:
                if name not in self._keypairs:
                    raise self._no_keypair(name)
                return Answer(200, {"keypair": self._full_keypair(name, version)})
            case "POST", ["os-keypairs"]:
                return self._create_keypair(call.document("keypair"), version)
            case "DELETE", ["os-keypairs", name]:
                if self._keypairs.pop(name, None) is None:
                    raise self._no_keypair(name)
                return Answer(202 if version < (2, 2) else 204)
            case "GET", ["os-simple-tenant-usage", tenant]:
                return self._tenant_usage(call, tenant)
            case "GET", ["extensions"]:
                return Answer(200, {"extensions": []})
        raise Refusal(html_page(404, "The resource could not be found."))

    def _tenant_usage(self, call: Call, tenant: str) -> Answer:
        machines = self._machines
        if tenant != machines.project_id:
            rule = "os_compute_api:os-simple-tenant-usage:show"
            raise nova_error(403, f"Policy doesn't allow {rule} to be performed.")
        return tenant_usage(call, tenant, [*machines.deleted.values(), *machines.servers.values()], machines.now())

    def _no_keypair(self, name: str) -> Refusal:
        return nova_error(404, f"Keypair {name} not found for user {self._user_id}")

    def _create_keypair(self, fields: dict[str, Any], version: Version) -> Answer:
        """Take a public key; nova's making of a pair is left out, because nobody should log in with it."""
        name, public = str(fields.get("name")), str(fields.get("public_key") or "")
        if name in self._keypairs:
            raise nova_error(409, f"Key pair '{name}' already exists.")
        try:
            blob = base64.b64decode(public.split()[1], validate=True)
        except (IndexError, ValueError):
            raise nova_error(400, "Keypair data is invalid: failed to generate fingerprint") from None
        digest = hashlib.md5(blob).hexdigest()
        fingerprint = ":".join(digest[place : place + 2] for place in range(0, 32, 2))
        self._keypairs[name] = {"name": name, "public_key": public, "fingerprint": fingerprint}
        row = {**_keypair(self._keypairs[name], version)["keypair"], "user_id": self._user_id}
        return Answer(200 if version < (2, 2) else 201, {"keypair": row})

    def _server(self, ident: str) -> Server:
        server = self._machines.servers.get(ident)
        if server is None:
            raise nova_error(404, f"Instance {ident} could not be found.")
        if self._settings.cells_down:
            raise nova_error(500, CELL_DOWN)
        return server

    def _flavor(self, ident: str) -> FlavorConfig:
        flavor = self._flavors.get(ident)
        if flavor is None:
            raise nova_error(404, f"Flavor {ident} could not be found.")
        return flavor

    def _sorted_flavors(self) -> list[FlavorConfig]:
        return sorted(self._flavors.values(), key=lambda flavor: flavor.id)

    def _flavor_page(self, call: Call, rows: list[dict[str, Any]]) -> Answer:
        page, more = self._cut(call, rows)
        body: dict[str, Any] = {"flavors": page}
        if more:
            body["flavors_links"] = [self._next(call, page[-1]["id"])]
        return Answer(200, body)

    def _cut(self, call: Call, rows: list[Any]) -> tuple[list[Any], bool]:
        text = call.first("limit")
        if text is not None and not text.isdigit():
            raise listing.query_error("limit", text, f"'{text}' does not match '^[0-9]*$'")
        limit = min(int(text), self._settings.page_limit) if text else self._settings.page_limit
        try:
            return cut(rows, _ident, limit, call.first("marker"))
        except BadPage as bad:
            raise nova_error(400, str(bad)) from None

    def _next(self, call: Call, marker: str) -> dict[str, str]:
        query = [(key, value) for key, value in call.query if key != "marker"] + [("marker", marker)]
        return {"rel": "next", "href": f"{call.root}/{'/'.join(call.path)}?{urlencode(query)}"}

    def _list(self, call: Call, version: Version, *, detailed: bool) -> Answer:
        page, more = self._cut(call, listing.select(call, self._machines))
        if detailed:
            rows: list[Any] = [self._views.fragment(server, version, listed=True) for server in page]
        else:
            rows = [self._views.short(server) for server in page]
        body: dict[str, Any] = {"servers": rows}
        # Nova adds the link whenever the page is as full as the client asked for (or the server allows).
        asked = call.first("limit")
        full = bool(page) and asked is not None and len(page) == int(asked or 0)
        if more or full:
            body["servers_links"] = [self._next(call, page[-1].id)]
        return Answer(200, body)

    def _create(self, call: Call, version: Version) -> Answer:
        wish, minimum, maximum = create.check(call.document("server"), version, self._around)
        wish.hints = placement.hints_of(call.json(), self._machines.groups)
        servers = self._machines.create(wish, minimum, maximum, call.effects)
        first = servers[0]
        body = {
            "id": first.id,
            "links": self._views.links("servers", first.id),
            "OS-DCF:diskConfig": "MANUAL",
            "security_groups": [{"name": name} for name in wish.security_groups],
            "adminPass": secrets.token_urlsafe(9),
        }
        return Answer(202, {"server": body}, {"Location": f"{call.root}/servers/{first.id}"})

    def _action(self, server: Server, document: Any) -> Answer:
        if not isinstance(document, dict) or len(document) != 1:
            raise nova_error(400, "Malformed request body")
        [(name, options)] = document.items()
        match name:
            case "lock":
                reason = options.get("locked_reason") if isinstance(options, dict) else None
                self._machines.lock(server, True, reason)
                return Answer(202)
            case "unlock":
                self._machines.lock(server, False, None)
                return Answer(202)
            case "os-getConsoleOutput":
                text = self._console(server)
                if text is None:
                    raise nova_error(409, f"Instance {server.id} is not ready")
                length = (options or {}).get("length")
                lines = text.splitlines()
                return Answer(200, {"output": "\n".join(lines[-int(length) :] if length is not None else lines)})
        raise nova_error(400, f"There is no such action: {name}")

    def _group_page(self, call: Call) -> list[ServerGroupConfig]:
        start, limit = int(call.first("offset") or 0), parse_limit(call.first("limit"), 1000)
        return list(self._machines.groups.values())[start : start + limit]

    def _group(self, group: ServerGroupConfig, version: Version) -> dict[str, Any]:
        row: dict[str, Any] = {"id": group.id, "name": group.name, "members": self._machines.members(group.id)}
        later, former = {"policy": group.policy, "rules": {}}, {"policies": [group.policy], "metadata": {}}
        row |= later if version >= (2, 64) else former
        if version >= (2, 13):
            row |= {"project_id": self._machines.project_id, "user_id": self._user_id}
        return row

    def _full_keypair(self, name: str, version: Version) -> dict[str, Any]:
        row: dict[str, Any] = _keypair(self._keypairs[name], version)["keypair"]
        row |= {
            "user_id": self._user_id,
            "created_at": iso_micro(self._around.network.born),
            "deleted": False,
            "deleted_at": None,
            "updated_at": None,
            "id": 1 + list(self._keypairs).index(name),
        }
        return row


def _keypair(row: dict[str, Any], version: Version) -> dict[str, Any]:
    shown = {key: row[key] for key in ("name", "public_key", "fingerprint")}
    if version >= (2, 2):
        shown["type"] = "ssh"
    return {"keypair": shown}


def _ident(row: Any) -> str:
    return str(row["id"] if isinstance(row, dict) else row.id)
