# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova: versions, limits, catalogues, refusals and the life of a server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tests.integration.contract.harness import Lab, check, neutral, refusal, shape

NOBODY = "11111111-2222-3333-4444-555555555555"


def _view(server: dict[str, Any]) -> dict[str, Any]:
    """Return a server's shape with the values that mean something."""
    outline: dict[str, Any] = shape(server)
    outline["addresses"] = [shape(rows[0]) for rows in server["addresses"].values()]
    for key in ("status", "config_drive", "OS-EXT-STS:vm_state", "OS-EXT-STS:task_state", "OS-EXT-STS:power_state"):
        outline[key] = server[key]
    outline["flavor"] = sorted(server["flavor"])
    outline["metadata"] = server["metadata"]
    return outline


@check
def versions(lab: Lab) -> Iterator[tuple[str, Any]]:
    url = lab.endpoint("compute")
    yield "compute: discovery", shape(lab.bare("GET", f"{url}/").json())
    root = url.rsplit("/v2.1", 1)[0]
    (entry,) = (item for item in lab.bare("GET", f"{root}/").json()["versions"] if item["id"] == "v2.1")
    yield "compute: versions", shape(entry)
    yield "compute: microversion too new", refusal(lab.call("compute", "GET", "/servers", version="2.999"))
    answer = lab.call("compute", "GET", "/servers", version="2.53")
    yield "compute: version headers", [answer.headers["OpenStack-API-Version"], answer.headers["Vary"]]
    old = lab.bare(
        "GET",
        f"{url}/servers",
        headers={"X-Auth-Token": lab.connection.auth_token, "X-OpenStack-Nova-API-Version": "2.10"},
    )
    yield "compute: old header", old.headers["X-OpenStack-Nova-API-Version"]


@check
def catalogues(lab: Lab) -> Iterator[tuple[str, Any]]:
    for version in ("2.1", "2.53", "2.93"):
        body = lab.call("compute", "GET", "/limits", version=version).json()
        yield f"compute: limits at {version}", shape(body)
        flavors = lab.call("compute", "GET", "/flavors/detail", version=version).json()
        yield f"compute: flavor at {version}", shape(flavors["flavors"][0])
    yield "compute: flavors", shape(lab.call("compute", "GET", "/flavors", version="2.1").json())
    page = lab.call("compute", "GET", "/flavors?limit=2", version="2.1").json()
    yield "compute: page of flavors", [len(page["flavors"]), sorted(page)]
    yield "compute: zones", shape(lab.call("compute", "GET", "/os-availability-zone").json())
    yield "compute: keypairs", shape(lab.call("compute", "GET", "/os-keypairs", version="2.53").json())
    yield "compute: keypair", shape(lab.call("compute", "GET", f"/os-keypairs/{lab.key}", version="2.53").json())
    yield "compute: no such flavor", refusal(lab.call("compute", "GET", "/flavors/nonsense"))
    missing = refusal(lab.call("compute", "GET", "/os-keypairs/nonsense"))
    yield "compute: no such keypair", missing
    yield "compute: no such path", refusal(lab.call("compute", "GET", "/nonsense"))


@check
def refused_creates(lab: Lab) -> Iterator[tuple[str, Any]]:
    wishes: dict[str, dict[str, Any]] = {
        "unknown flavor": {"flavorRef": "nonsense"},
        "unknown image": {"imageRef": NOBODY},
        "malformed image": {"imageRef": "nonsense"},
        "no image": {"imageRef": ...},
        "unknown network": {"networks": [{"uuid": NOBODY}]},
        "unknown port": {"networks": [{"port": NOBODY}]},
        "external network": {"networks": [{"uuid": lab.public.id}]},
        "unknown key": {"key_name": "nonsense"},
        "unknown zone": {"availability_zone": "nonsense"},
        "unknown security group": {"security_groups": [{"name": "nonsense"}]},
        "129 metadata items": {"metadata": {str(number): "x" for number in range(129)}},
        "long metadata value": {"metadata": {"k": "v" * 256}},
        "metadata of numbers": {"metadata": {"k": 1}},
        "empty name": {"name": ""},
        "over quota": {"min_count": 99, "max_count": 99},
        "over the quota of ports": {"min_count": 1000, "max_count": 1000},
    }
    for name, changes in wishes.items():
        answer = lab.post_server(name, **changes)
        yield f"create: {name}", refusal(answer, numbers=name == "over quota")
        if answer.status_code == 202:
            yield f"create: {name}: the end", _end(lab, answer.json()["server"]["id"])
    unknown = lab.post_server("extra", nonsense=1)
    message = unknown.json()["badRequest"]["message"]
    yield "create: unknown property", [unknown.status_code, message.rpartition("}. ")[2]]
    without = lab.post_server("bare", networks=...)
    yield (
        "create: no networks at 2.53",
        [
            without.status_code,
            without.json()["badRequest"]["message"].rpartition("}. ")[2],
        ],
    )


def _end(lab: Lab, ident: str) -> list[Any]:
    """Return status and fault of a server that was accepted only to fail, and whether a list shows it; delete it."""
    built = lab.wait("the end of the build", lambda: lab.server(ident)["status"] != "BUILD" and lab.server(ident))
    fault = built.get("fault", {})
    listed = lab.call("compute", "GET", "/servers/detail").json()["servers"]
    told = ["fault" in server for server in listed if server["id"] == ident]
    lab.delete_server(ident)
    return [built["status"], fault.get("code"), neutral(fault.get("message", "")), {"fault in the list": told}]


@check
def refused_reads(lab: Lab) -> Iterator[tuple[str, Any]]:
    yield "servers: unknown", refusal(lab.call("compute", "GET", f"/servers/{NOBODY}"))
    yield "servers: delete unknown", refusal(lab.call("compute", "DELETE", f"/servers/{NOBODY}"))
    for query in (f"marker={NOBODY}", "limit=x", "limit=-1", "changes-since=x", "status=DELETED"):
        answer = lab.call("compute", "GET", f"/servers/detail?{query}")
        yield f"servers: ?{neutral(query)}", refusal(answer)
    assert lab.call("compute", "GET", "/servers/detail?status=nonsense").json() == {"servers": []}


@check
def life(lab: Lab) -> Iterator[tuple[str, Any]]:
    before = lab.call("compute", "GET", "/limits").json()["limits"]["absolute"]
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1))
    answer = lab.post_server("one")
    yield "create: accepted", [answer.status_code, shape(answer.json()), neutral(answer.headers["Location"])]
    ident = answer.json()["server"]["id"]
    lab.wait_active(ident)
    lab.wait("the address", lambda: lab.server(ident)["addresses"])
    for version in ("2.1", "2.3", "2.10", "2.47", "2.53", "2.63", "2.93"):
        yield f"server at {version}", _view(lab.server(ident, version))
    for version in ("2.1", "2.53", "2.93"):
        listing = lab.call("compute", "GET", "/servers/detail", version=version).json()
        yield f"servers/detail at {version}", _view(listing["servers"][0])
    yield "servers: short", shape(lab.call("compute", "GET", "/servers").json()["servers"][0])
    for version in ("2.1", "2.53", "2.93"):
        unmet = lab.call(
            "compute",
            "GET",
            "/servers/detail",
            version=version,
            params={"metadata": '{"nodepool_provider_name": "none"}'},
        ).json()
        yield f"servers: a filter by metadata at {version}", [row["id"] == ident for row in unmet["servers"]]
    after = lab.call("compute", "GET", "/limits").json()["limits"]["absolute"]
    yield "limits: one server more", after["totalInstancesUsed"] - before["totalInstancesUsed"]
    assert after["totalRAMUsed"] - before["totalRAMUsed"] == lab.flavor.ram
    assert after["totalCoresUsed"] - before["totalCoresUsed"] == lab.flavor.vcpus
    console = lab.call("compute", "POST", f"/servers/{ident}/action", json={"os-getConsoleOutput": {"length": 2}})
    yield "server: console", [console.status_code, shape(console.json()), len(console.json()["output"].splitlines())]
    nonsense = lab.call("compute", "POST", f"/servers/{ident}/action", json={"nonsense": None})
    yield "server: unknown action", nonsense.status_code
    yield from _listings(lab, ident)
    yield from _ending(lab, ident, since)


def _listings(lab: Lab, first: str) -> Iterator[tuple[str, Any]]:
    idents = [first]
    for name in ("two", "three"):
        # Creation times have whole seconds, and the order is by them.
        time.sleep(1.1)
        idents.append(lab.post_server(name).json()["server"]["id"])
    for ident in idents[1:]:
        lab.wait_active(ident)
    mine = f"name=contract-{lab.tag}"

    def page(query: str) -> list[Any]:
        body = lab.call("compute", "GET", f"/servers/detail?{mine}&{query}").json()
        shown = [idents.index(server["id"]) for server in body["servers"]]
        following = [neutral(link["href"]) and link["rel"] for link in body.get("servers_links", [])]
        return [shown, following]

    yield "paging: first two", page("limit=2")
    yield "paging: the rest", page(f"limit=2&marker={idents[1]}")
    yield "paging: exactly all", page("limit=3")
    yield "paging: behind the last", page(f"limit=3&marker={idents[0]}")
    yield "paging: all", page("")
    yield "filter: status", page("status=active")
    link = lab.call("compute", "GET", f"/servers/detail?{mine}&limit=2").json()["servers_links"][0]["href"]
    rest = lab.bare("GET", link, headers={"X-Auth-Token": lab.connection.auth_token}).json()
    yield "paging: the link leads on", [idents.index(server["id"]) for server in rest["servers"]]
    found = lab.call("compute", "GET", f"/servers?name=contract-{lab.tag}-t[wx]o").json()["servers"]
    yield "filter: name is a pattern", [idents.index(server["id"]) for server in found]
    for ident in idents[1:]:
        lab.delete_server(ident)


def _ending(lab: Lab, ident: str, since: str) -> Iterator[tuple[str, Any]]:
    locked = lab.call("compute", "POST", f"/servers/{ident}/action", json={"lock": None})
    yield "lock: answer", locked.status_code
    yield "lock: shown", lab.server(ident, "2.10")["locked"]
    yield "lock: delete", refusal(lab.call("compute", "DELETE", f"/servers/{ident}"))
    assert lab.call("compute", "POST", f"/servers/{ident}/action", json={"unlock": None}).status_code == 202
    first = lab.call("compute", "DELETE", f"/servers/{ident}")
    yield "delete: answer", [first.status_code, first.text]
    lab.wait("the end of the server", lambda: lab.gone(ident))
    yield "delete: a server that is gone", refusal(lab.call("compute", "DELETE", f"/servers/{ident}"))
    body = lab.call("compute", "GET", f"/servers/detail?changes-since={since}", version="2.53").json()
    (deleted,) = (server for server in body["servers"] if server["id"] == ident)
    yield "changes-since: a deleted server", {**_view(deleted), "addresses": deleted["addresses"]}
    plain = lab.call("compute", "GET", "/servers/detail").json()["servers"]
    assert ident not in [server["id"] for server in plain]
