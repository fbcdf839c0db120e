# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud in memory below the client's transport: everything above it is real, the SDK included."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import login
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.transport import Transport
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider

KEYSTONE = "http://keystone.invalid/v3"
PASSWORD = "sesame-42-open"

Handler = Callable[["Seen"], Any]


class Seen:
    """A request as the cloud sees it."""

    def __init__(self, request: Any) -> None:
        parts = urlsplit(request.url)
        self.method: str = request.method
        self.host: str = parts.hostname or ""
        self.path: str = parts.path
        self.query = parse_qs(parts.query)
        self.headers = request.headers
        self.body = json.loads(request.body) if request.body else None
        self.token: str = request.headers.get("X-Auth-Token", "")


class FakeCloud:
    """Answers by (method, path); an answer is (status, body[, headers]), an exception, or a function of Seen."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seen: list[Seen] = []
        self.answers: dict[tuple[str, str], Any] = {}
        self.tokens = 0
        self.valid: set[str] = set()
        self.catalog = [
            service("compute", "http://nova.invalid/v2.1"),
            service("network", "http://neutron.invalid"),
            service("image", "http://glance.invalid"),
            service("volumev3", "http://cinder.invalid/v3/0b1e3a527f0d4c539b0e0d1c2b3a4f5e"),
        ]
        self.on("POST", "/v3/auth/tokens", self._token)

    def on(self, method: str, path: str, *answers: Any) -> None:
        """Answers in this order; the last one for ever."""
        self.answers[method, path] = list(answers)

    def _token(self, seen: Seen) -> Any:
        if seen.body["auth"]["identity"]["password"]["user"]["password"] != PASSWORD:
            return 401, {"error": {"code": 401, "message": "The request requires authentication."}}
        self.tokens += 1
        token = f"token-{self.tokens}"
        self.valid.add(token)
        access = {
            "token": {
                "expires_at": "2099-01-01T00:00:00.000000Z",
                "issued_at": "2026-01-01T00:00:00.000000Z",
                "methods": ["password"],
                "user": {"id": "u", "name": "nodepool", "domain": {"id": "default", "name": "Default"}},
                "project": {"id": "proj", "name": "ci", "domain": {"id": "default", "name": "Default"}},
                "catalog": self.catalog,
                "roles": [],
            }
        }
        return 201, access, {"X-Subject-Token": token}

    def exchange(self, request: Any) -> Any:
        seen = Seen(request)
        with self.lock:
            self.seen.append(seen)
            answers = self.answers[seen.method, seen.path]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if seen.host != "keystone.invalid" and seen.token not in self.valid:
                answer = (401, {"error": {"message": "The request requires authentication."}})
            if callable(answer) and not isinstance(answer, type):
                answer = answer(seen)
        if isinstance(answer, Exception):
            raise answer
        status, body, *headers = answer
        response = requests.Response()
        response.status_code = status
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        response._content = text.encode() if isinstance(text, str) else text
        response._content_consumed = True
        response.headers.update(headers[0] if headers else {"Content-Type": "application/json"})
        response.url = request.url
        response.request = request
        return response

    def calls(self) -> list[str]:
        """What was asked, as "METHOD path"."""
        return [f"{seen.method} {seen.path}" for seen in self.seen]


def service(kind: str, url: str, region: str = "RegionOne") -> dict[str, Any]:
    endpoint = {"id": kind, "interface": "public", "region": region, "region_id": region, "url": url}
    return {"id": kind, "type": kind, "name": kind, "endpoints": [endpoint]}


def clouds_yaml(password: str = PASSWORD, **more: Any) -> str:
    entry = {
        "auth": {
            "auth_url": KEYSTONE,
            "username": "nodepool",
            "password": password,
            "project_name": "ci",
            "user_domain_id": "default",
            "project_domain_id": "default",
        },
        **more,
    }
    return json.dumps({"clouds": {"east": entry}})


@pytest.fixture(name="service")
def service_fixture() -> Callable[..., dict[str, Any]]:
    """Makes entries of the catalog."""
    return service


@pytest.fixture(name="clouds_yaml")
def clouds_yaml_fixture() -> Callable[..., str]:
    """Makes texts of clouds.yaml."""
    return clouds_yaml


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> FakeCloud:
    # Logins are shared within the process; another test's token is no good here.
    monkeypatch.setattr(login, "_logins", {})
    return FakeCloud()


@pytest.fixture
def make_client(cloud: FakeCloud, tmp_path: Path) -> Callable[..., CloudClient]:
    """Makes clients of the cloud; without *text* of the standard clouds.yaml."""

    class FakeTransport(Transport):
        def _exchange(self, request: Any, options: dict[str, Any], silence: float) -> Any:
            return cloud.exchange(request)

    def make(text: str | None = None, *, region: str | None = None, entry: str = "east", **options: Any) -> CloudClient:
        path = tmp_path / "clouds.yaml"
        path.write_text(text or clouds_yaml(), encoding="utf-8")
        provider = Provider("p1", entry, region_name=region, rate=0.0)
        return CloudClient(provider, clouds_config=str(path), transport=FakeTransport, **options)

    return make
