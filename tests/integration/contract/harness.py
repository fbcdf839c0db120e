# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the contract's checks share: the connection, raw calls, and observations that do not depend on ids or times."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import openstack
import requests

WAIT_SECONDS = 180.0
POLL_SECONDS = 0.3
SERVICE_TYPES = {"compute": "compute", "network": "network", "image": "image", "identity": "identity"}

UUIDS = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b")
URLS = re.compile(r"https?://[^\s\"'<>]+")
NUMBERS = re.compile(r"\b\d+\b")

Observations = dict[str, Any]
Check = Callable[["Lab"], Iterator[tuple[str, Any]]]
CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Register a generator of ``(name, observation)``."""
    CHECKS.append(function)
    return function


def shape(value: Any) -> Any:
    """Return the keys and the types of a document; a list is shown by its first item."""
    if isinstance(value, dict):
        return {key: shape(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def neutral(text: str, *, numbers: bool = False) -> str:
    """Return a text without ids and addresses, and without figures where they depend on the cloud."""
    text = UUIDS.sub("<id>", URLS.sub("<url>", text))
    return NUMBERS.sub("<n>", text) if numbers else text


def refusal(answer: requests.Response, *, numbers: bool = False) -> dict[str, Any]:
    """Return status, kind of body and its text; the status alone when it is no refusal."""
    if answer.status_code < 400:
        return {"status": answer.status_code}
    kind = answer.headers.get("Content-Type", "").partition(";")[0]
    if kind == "application/json":
        body: Any = answer.json()
        [(name, inner)] = body.items()
        if not isinstance(inner, dict) or "message" not in inner:
            raise AssertionError(f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text[:300]}")
        message = neutral(inner["message"], numbers=numbers)
        return {"status": answer.status_code, "kind": kind, "body": {name: {**inner, "message": message}}}
    text = " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())
    return {"status": answer.status_code, "kind": kind, "body": neutral(text, numbers=numbers)}


class Lab:
    """A cloud under observation, with a small image, a flavor, a network and a key to work with."""

    def __init__(self, cloud: str, clouds_yaml: str) -> None:
        config = openstack.config.OpenStackConfig(config_files=[clouds_yaml], load_envvars=False)
        self.region = config.get_one(cloud)
        self.connection = openstack.connection.Connection(config=self.region)
        self.auth = self.region.config["auth"]
        self.tag = uuid.uuid4().hex[:8]
        self.flavor = min(self.connection.compute.flavors(), key=lambda flavor: (flavor.ram, flavor.vcpus))
        self.network = self.connection.network.find_network("private", ignore_missing=False)
        self.public = self.connection.network.find_network("public", ignore_missing=False)
        self.image_id = ""
        self.key = f"contract-{self.tag}"
        self._servers: list[str] = []

    def call(
        self, service: str, method: str, path: str, *, version: str | None = None, **options: Any
    ) -> requests.Response:
        """Make a call with our token; any status is returned."""
        proxy = getattr(self.connection, service)
        if version is not None:
            options["microversion"] = version
        answer: requests.Response = proxy.request(path, method, raise_exc=False, timeout=60, **options)
        return answer

    def bare(self, method: str, url: str, **options: Any) -> requests.Response:
        """Make a call without a token."""
        return requests.request(method, url, timeout=60, allow_redirects=False, **options)

    def endpoint(self, service: str) -> str:
        url: str = getattr(self.connection, service).get_endpoint()
        return url.rstrip("/")

    def wish(self, label: str, **changes: Any) -> dict[str, Any]:
        """Return the body of a POST /servers; a change to ``...`` leaves the key out."""
        server: dict[str, Any] = {
            "name": f"contract-{self.tag}-{label}",
            "flavorRef": self.flavor.id,
            "imageRef": self.image_id,
            "networks": [{"uuid": self.network.id}],
            "metadata": {"purpose": "contract"},
            "key_name": self.key,
            "config_drive": True,
            **changes,
        }
        return {"server": {key: value for key, value in server.items() if value is not ...}}

    def post_server(self, label: str, version: str = "2.53", **changes: Any) -> requests.Response:
        """POST /servers; what is accepted is deleted at the end."""
        answer = self.call("compute", "POST", "/servers", version=version, json=self.wish(label, **changes))
        if answer.status_code == 202:
            self._servers.append(answer.json()["server"]["id"])
        return answer

    def server(self, ident: str, version: str = "2.53") -> dict[str, Any]:
        answer = self.call("compute", "GET", f"/servers/{ident}", version=version)
        assert answer.status_code == 200, answer.text
        view: dict[str, Any] = answer.json()["server"]
        return view

    def wait(self, what: str, condition: Callable[[], Any]) -> Any:
        """Return what the condition gives once it is true."""
        limit = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < limit:
            found = condition()
            if found:
                return found
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"{what} did not happen within {WAIT_SECONDS:.0f} s")

    def wait_active(self, ident: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            view = self.server(ident)
            assert view["status"] != "ERROR", view.get("fault")
            return view if view["status"] == "ACTIVE" else None

        found: dict[str, Any] = self.wait(f"server {ident} ACTIVE", look)
        return found

    def gone(self, ident: str) -> bool:
        return self.call("compute", "GET", f"/servers/{ident}").status_code == 404

    def delete_server(self, ident: str) -> None:
        self.call("compute", "POST", f"/servers/{ident}/action", json={"unlock": None})
        self.call("compute", "DELETE", f"/servers/{ident}")
        self.wait(f"server {ident} gone", lambda: self.gone(ident))
        if ident in self._servers:
            self._servers.remove(ident)

    @contextmanager
    def furnished(self) -> Iterator[Lab]:
        """Upload the image and the key, and take everything away at the end."""
        fields = {"name": f"contract-{self.tag}", "disk_format": "raw", "container_format": "bare"}
        self.image_id = self.call("image", "POST", "/images", json=fields).json()["id"]
        headers = {"Content-Type": "application/octet-stream"}
        self.call("image", "PUT", f"/images/{self.image_id}/file", data=b"contract" * 64, headers=headers)
        public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl contract"
        self.call("compute", "POST", "/os-keypairs", json={"keypair": {"name": self.key, "public_key": public}})
        try:
            yield self
        finally:
            for ident in list(self._servers):
                self.call("compute", "DELETE", f"/servers/{ident}")
            for ident in list(self._servers):
                self.delete_server(ident)
            self.call("compute", "DELETE", f"/os-keypairs/{self.key}")
            self.call("image", "DELETE", f"/images/{self.image_id}")


def run(cloud: str, clouds_yaml: str) -> Observations:
    """Run every check against a cloud of a clouds.yaml; return what was observed."""
    observed: Observations = {}
    with Lab(cloud, clouds_yaml).furnished() as lab:
        for function in CHECKS:
            for name, value in function(lab):
                assert name not in observed, f"{name} is observed twice"
                observed[name] = value
    return observed
