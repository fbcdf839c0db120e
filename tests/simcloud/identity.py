# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keystone v3: discovery, tokens, the catalog and the one project."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from tests.simcloud.answers import Answer, keystone_error
from tests.simcloud.call import Call
from tests.simcloud.config import CloudConfig, stable_id
from tests.simcloud.timing import Scheduler, iso_micro

DOMAIN = {"id": "default", "name": "Default"}
SERVICES = (
    ("identity", "keystone", "identity/v3/"),
    ("compute", "nova", "compute/v2.1"),
    ("image", "glance", "image"),
    ("network", "neutron", "network"),
    ("volumev3", "cinderv3", "volume/v3/{project}"),
)
OBJECT_STORE = ("object-store", "swift", "object-store/v1/AUTH_{project}")


@dataclass(slots=True)
class Token:
    """An issued token; times are seconds since the epoch."""

    id: str
    issued: float
    expires: float


class Identity:
    """The keystone of one cloud, which other clouds (its further regions) may share."""

    def __init__(self, config: CloudConfig, base: str, scheduler: Scheduler) -> None:
        self._config = config
        self._base = base
        self._scheduler = scheduler
        self._tokens: dict[str, Token] = {}
        self.regions: list[tuple[str, str]] = []
        self.project_id = stable_id(config.name, "project", config.project).replace("-", "")
        self.user_id = stable_id(config.name, "user", config.username).replace("-", "")

    def accepts(self, token: str | None) -> bool:
        """Tell whether a token is valid now."""
        known = self._tokens.get(token or "")
        return known is not None and self._scheduler.now() < known.expires

    def revoke_all(self) -> int:
        """Forget every token; return how many there were."""
        number = len(self._tokens)
        self._tokens.clear()
        return number

    @property
    def url(self) -> str:
        return f"{self._base}/{self._config.name}/identity/v3"

    def versions(self) -> Answer:
        """Answer the unversioned root."""
        return Answer(300, {"versions": {"values": [self._version()]}}, {"Location": f"{self.url}/"})

    def handle(self, call: Call) -> Answer:
        match call.method, call.path:
            case "GET", []:
                return Answer(200, {"version": self._version()})
            case "POST", ["auth", "tokens"]:
                return self._issue(call)
        if not self.accepts(call.headers.get("X-Auth-Token")):
            raise self.unauthorized()
        match call.method, call.path:
            case (("GET" | "HEAD"), ["auth", "tokens"]):
                return self._show(call.headers.get("X-Subject-Token", ""))
            case "DELETE", ["auth", "tokens"]:
                self._tokens.pop(call.headers.get("X-Subject-Token", ""), None)
                return Answer(204)
            case "GET", ["projects"] | ["auth", "projects"]:
                links = {"next": None, "previous": None, "self": f"{self.url}/{'/'.join(call.path)}"}
                return Answer(200, {"projects": [self._project()], "links": links})
            case "GET", ["projects", ident] if ident == self.project_id:
                return Answer(200, {"project": self._project()})
            case "GET", ["projects", ident]:
                raise keystone_error(404, f"Could not find project: {ident}.")
            case "GET", ["auth", "catalog"]:
                return Answer(200, {"catalog": self._catalog()})
        raise keystone_error(404, "The resource could not be found.")

    def unauthorized(self) -> Exception:
        refusal = keystone_error(401)
        refusal.answer.headers["WWW-Authenticate"] = f'Keystone uri="{self.url}"'
        return refusal

    def _version(self) -> dict[str, Any]:
        return {
            "id": "v3.14",
            "status": "stable",
            "updated": "2020-04-07T00:00:00Z",
            "links": [{"rel": "self", "href": f"{self.url}/"}],
            "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
        }

    def _issue(self, call: Call) -> Answer:
        try:
            identity = call.json()["auth"]["identity"]
            if "password" not in identity["methods"]:
                raise self.unauthorized()
            user = identity["password"]["user"]
            named = user.get("name") == self._config.username or user.get("id") == self.user_id
            allowed = named and user["password"] == self._config.settings.password
        except (KeyError, TypeError):
            raise keystone_error(400, "Expecting to find auth in request body.") from None
        scope = call.json()["auth"].get("scope")
        project = scope.get("project", {}) if isinstance(scope, dict) else {}
        if project and project.get("name") != self._config.project and project.get("id") != self.project_id:
            allowed = False
        if not allowed:
            raise self.unauthorized()
        now = self._scheduler.now()
        for ident in [token.id for token in self._tokens.values() if token.expires <= now]:
            del self._tokens[ident]
        token = Token(secrets.token_urlsafe(24), now, now + self._config.settings.token_life)
        self._tokens[token.id] = token
        return Answer(201, {"token": self._document(token)}, {"X-Subject-Token": token.id, "Vary": "X-Auth-Token"})

    def _show(self, ident: str) -> Answer:
        if not self.accepts(ident):
            raise keystone_error(404, "Could not find token.")
        return Answer(200, {"token": self._document(self._tokens[ident])}, {"X-Subject-Token": ident})

    def _document(self, token: Token) -> dict[str, Any]:
        return {
            "methods": ["password"],
            "user": {
                "domain": DOMAIN,
                "id": self.user_id,
                "name": self._config.username,
                "password_expires_at": None,
            },
            "audit_ids": [token.id[:22]],
            "expires_at": iso_micro(token.expires + self._config.settings.clock_offset) + "Z",
            "issued_at": iso_micro(token.issued + self._config.settings.clock_offset) + "Z",
            "project": {"domain": DOMAIN, "id": self.project_id, "name": self._config.project},
            "is_domain": False,
            "roles": [{"id": stable_id("role", "member").replace("-", ""), "name": "member"}],
            "catalog": self._catalog(),
        }

    def _project(self) -> dict[str, Any]:
        return {
            "id": self.project_id,
            "name": self._config.project,
            "domain_id": "default",
            "description": "",
            "enabled": True,
            "parent_id": "default",
            "is_domain": False,
            "tags": [],
            "options": {},
            "links": {"self": f"{self.url}/projects/{self.project_id}"},
        }

    def _catalog(self) -> list[dict[str, Any]]:
        catalog = []
        swift = [OBJECT_STORE] if self._config.settings.object_store else []
        for kind, name, path in (*SERVICES, *swift):
            shown = self._config.settings.catalog.get(kind, {})
            if shown is None:
                continue
            endpoints = []
            for cloud, true_region in self.regions:
                prefix = self._config.name if kind == "identity" else cloud
                below = shown.get("path", path).format(project=self.project_id)
                url = shown.get("url", f"{self._base}/{prefix}/{below}")
                region = shown.get("region", true_region)
                interfaces = (shown["interface"],) if "interface" in shown else ("public", "internal", "admin")
                for interface in interfaces:
                    endpoints.append(
                        {
                            "id": stable_id(cloud, kind, interface).replace("-", ""),
                            "interface": interface,
                            "region": region,
                            "region_id": region,
                            "url": url,
                        }
                    )
            catalog.append({"id": stable_id(kind).replace("-", ""), "type": kind, "name": name, "endpoints": endpoints})
        return catalog
