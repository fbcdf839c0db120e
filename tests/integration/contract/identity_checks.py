# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keystone: discovery, tokens and how every service refuses a bad one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openstack

from tests.integration.contract.harness import Lab, check, neutral, refusal, shape


def _password(lab: Lab, password: str) -> dict[str, Any]:
    user = {"name": lab.auth["username"], "domain": {"id": "default"}, "password": password}
    scope = {"project": {"name": lab.auth["project_name"], "domain": {"id": "default"}}}
    return {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}


@check
def tokens(lab: Lab) -> Iterator[tuple[str, Any]]:
    url = lab.auth["auth_url"].rstrip("/")
    version = lab.bare("GET", url).json()["version"]
    yield "identity: discovery", {**shape(version), "id": version["id"].partition(".")[0], "status": version["status"]}
    wrong = lab.bare("POST", f"{url}/auth/tokens", json=_password(lab, "wrong"))
    yield "identity: wrong password", refusal(wrong)
    yield "identity: wrong password names the service", neutral(wrong.headers.get("WWW-Authenticate", ""))
    right = lab.bare("POST", f"{url}/auth/tokens", json=_password(lab, lab.auth["password"]))
    assert right.status_code == 201 and right.headers["X-Subject-Token"]
    document = right.json()["token"]
    (entry,) = (entry for entry in document["catalog"] if entry["type"] == "compute")
    yield "identity: token", {**shape(document), "catalog": shape(entry)}
    interfaces = sorted(endpoint["interface"] for endpoint in entry["endpoints"])
    yield "identity: interfaces", interfaces
    headers = {"X-Auth-Token": right.headers["X-Subject-Token"], "X-Subject-Token": right.headers["X-Subject-Token"]}
    assert lab.bare("GET", f"{url}/auth/projects", headers=headers).status_code == 200
    assert lab.bare("DELETE", f"{url}/auth/tokens", headers=headers).status_code == 204
    yield "identity: revoked token", refusal(lab.bare("GET", f"{url}/auth/projects", headers=headers))


@check
def bad_tokens(lab: Lab) -> Iterator[tuple[str, Any]]:
    paths = {"compute": "/servers", "image": "/v2/images", "network": "/v2.0/ports"}
    for service, path in paths.items():
        base = lab.endpoint(service)
        base = base if service == "compute" else base.rsplit("/v2", 1)[0]
        bad = lab.bare("GET", f"{base}{path}", headers={"X-Auth-Token": "nonsense"})
        yield f"{service}: bad token", refusal(bad)
        assert bad.headers.get("WWW-Authenticate", "").startswith("Keystone uri=")


@check
def the_sdk_refuses(lab: Lab) -> Iterator[tuple[str, Any]]:
    """How the SDK tells the usual refusals apart."""

    def kind_of(call: Any) -> str:
        try:
            call()
        except openstack.exceptions.SDKException as problem:
            return type(problem).__name__
        return "nothing"

    compute = lab.connection.compute
    wish = {
        "flavor_id": lab.flavor.id,
        "image_id": lab.image_id,
        "networks": [{"uuid": lab.network.id}],
    }
    many = {**wish, "min_count": 99, "max_count": 99}
    yield "sdk: over quota", kind_of(lambda: compute.create_server(name="contract-many", **many))
    unknown = {**wish, "flavor_id": "nonsense"}
    yield "sdk: unknown flavor", kind_of(lambda: compute.create_server(name="contract-unknown", **unknown))
    nobody = "11111111-2222-3333-4444-555555555555"
    yield "sdk: no such server", kind_of(lambda: compute.get_server(nobody))
    yield "sdk: no such port", kind_of(lambda: lab.connection.network.get_port(nobody))
    yield "sdk: no such image", kind_of(lambda: lab.connection.image.get_image(nobody))
