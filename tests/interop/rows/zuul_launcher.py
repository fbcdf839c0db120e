# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way out: a whole Zuul 14.3.0 reads what zuul_config and image_data write, and its launcher launches nodes."""

from __future__ import annotations

from typing import Any

import yaml

from tests.interop.filling import build_directly
from tests.interop.lab import ZUUL, Lab, World, row
from tests.interop.rows.zuul_images import ZuulAdmin
from tests.interop.zuul_client import LAUNCHER_PROTOCOL, ZuulClient
from tests.interop.zuul_system import CANONICAL, CODE, PROJECT, TENANT, Zuul, job
from tests.support.builder_case import ELEMENTS, image
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import label, pool, provider

PATIENCE = 180.0
FORMATS = {"one": "raw", "two": "qcow2"}
OURS = "stays"
"""The label that stays with our launcher."""


def _configure(world: World) -> None:
    """Two providers list two diskimages. Zuul gets two labels of one of them, which uses one of the diskimages."""
    site = world.site
    for name, wanted in FORMATS.items():
        site.add_cloud(name, image_format=wanted)
    for folder in (world.host.images_dir, site.folder / "logs"):
        folder.mkdir(exist_ok=True)
    listed = [{"name": name} for name in ("fake", "spare")]
    small = label(
        "small",
        diskimage="fake",
        key_name="ci",
        userdata="#cloud-config\n",
        instance_properties={"team": "a{b}"},
    )
    large = label(
        "large",
        cloud_image="debian-12",
        min_ram=2000,
        boot_from_volume=True,
        volume_size=12,
        dynamic_instance_properties={"request": "req-{request.id}"},
    )
    one = pool("main", small, large, max_servers=4, security_groups=["web"])
    site.add_cloud("three", private=False)
    port = site.add_cloud("four", "guest").ssh_port()
    cloud_image = {"name": "ubuntu", "username": "me", "connection-port": port}
    public = pool("main", label("public", flavor_name="small"), auto_floating_ip=True)
    reached = pool("main", label("reached", cloud_image="ubuntu", flavor_name="small"), host_key_checking=True)
    two = pool("spare", label(OURS, diskimage="spare", flavor_name="small"))
    site.configure(
        provider("one", one, diskimages=[{**entry, "config-drive": False} for entry in listed]),
        provider("two", two, diskimages=listed),
        provider("three", public),
        provider("four", reached, cloud_images=[cloud_image]),
        labels={"small": {"min-ready": 1}},
        diskimages=[{"rebuild-age": 10**6, "username": "ci-user", **image(entry["name"])} for entry in listed],
        images_dir=str(world.host.images_dir),
        build_log_dir=str(site.folder / "logs"),
        elements_dir=str(ELEMENTS),
    )


def _give_images(lab: Lab, world: World) -> None:
    """Export our uploads and import them into Zuul."""
    path = world.site.folder / "zuul-images.json"
    options = {"path": str(path), "state": "exported", "form": "zuul", "zuul_project": PROJECT, "zuul_tenant": TENANT}
    world.site.module("image_data", **options)
    ZuulAdmin(lab, world).run("import-images", str(path))


def _convert(world: World, *without: str) -> tuple[str, dict[str, dict[str, str]]]:
    """The file for Zuul without some labels, and the connections that it needs."""
    done = world.site.module("zuul_config", clouds_config=str(world.site.clouds_yaml))
    objects = [item for item in done["objects"] if item.get("label", {}).get("name") not in without]
    for item in objects:
        if "provider" in item:
            item["provider"]["labels"] = [one for one in item["provider"]["labels"] if one["name"] not in without]
    return yaml.safe_dump(objects, sort_keys=False), done["connections"]


def _images(world: World) -> dict[str, dict[str, str]]:
    """Cloud → id → name of the images that our builder has uploaded there."""
    return {
        name: {
            ident: str(found["name"])
            for ident, found in cloud.state()["images"].items()
            if str(found["name"]).startswith(("fake-", "spare-"))
        }
        for name, cloud in world.site.clouds.items()
        if name in FORMATS
    }


def _external_ids(world: World, name: str, diskimage: str = "fake") -> list[str]:
    """Ids in the cloud of the ready uploads of a diskimage to a provider, oldest build first."""
    uploads = world.host.uploads(diskimage, name)
    return [str(one["external_id"]) for records in uploads.values() for one in records if one["state"] == "ready"]


def _is(nodes: list[dict[str, Any]], **wanted: str) -> list[dict[str, Any]]:
    return [node for node in nodes if all(node[key] == value for key, value in wanted.items())]


def _server(world: World, node: dict[str, Any]) -> dict[str, Any]:
    cloud = world.site.clouds[node["provider"].rpartition("/")[2]]
    (found,) = [server for server in cloud.servers() if server["id"] == node["server"]]
    return found


def _addresses(server: dict[str, Any]) -> dict[str, str]:
    """Kind (fixed or floating) → address."""
    return {one["OS-EXT-IPS:type"]: one["addr"] for one in server["addresses"]["private"]}


def _check_ways(world: World, client: ZuulClient, nodes: list[str]) -> None:
    """One node has a floating IP, the other one's ssh server was asked for its keys."""
    found = [node for node in client.do("nodes") if node["id"] in nodes]
    (public,), (reached,) = _is(found, label="public"), _is(found, label="reached")
    addresses = _addresses(_server(world, public))
    assert public["interface_ip"] == addresses.get("floating"), (public, addresses)
    assert reached["host_keys"] == _server(world, reached)["host_keys"] and reached["host_keys"], reached
    assert reached["interface_ip"] == _addresses(_server(world, reached))["fixed"], reached


def _fulfilled(client: ZuulClient, name: str) -> str:
    """Wait until the request of a job is fulfilled; its id."""

    def look() -> list[str]:
        return [one["id"] for one in client.do("requests") if one["job"] == name and one["state"] == "fulfilled"]

    eventually(look, PATIENCE)
    (ident,) = look()
    return ident


def _check_nodes(world: World, nodes: list[dict[str, Any]], request: str) -> None:
    """The nodes and their servers are as nodepool.yaml says."""
    (small,), (large,) = _is(nodes, label="small"), _is(nodes, label="large")
    for node, username in ((small, "ci-user"), (large, "zuul")):
        expected = {
            "state": "in-use",
            "provider": f"{CANONICAL}/one",
            "username": username,
            "connection_type": "ssh",
            "connection_port": 22,
            "python_path": "auto",
            "interface_ip": _addresses(_server(world, node))["fixed"],
        }
        assert node | expected == node, (node, expected)
    server = _server(world, small)
    assert (server["flavor"], server["key_name"], server["volumes"]) == ("small", "ci", []), server
    assert server["image"] == _external_ids(world, "one")[-1], server
    assert server["metadata"]["team"] == "a{b}", server
    assert server["user_data"] and not server["config_drive"] and server["security_groups"] == ["web"], server
    server = _server(world, large)
    assert (server["flavor"], len(server["volumes"]), server["config_drive"]) == ("medium", 1, True), server
    assert server["metadata"]["request"] == f"req-{request}", server


def _agrees(world: World) -> bool:
    """True if the clouds have exactly the images that our builder believes to be there."""
    there = {name: set(found) for name, found in _images(world).items()}
    known = {
        name: {ident for diskimage in ("fake", "spare") for ident in _external_ids(world, name, diskimage)}
        for name in FORMATS
    }
    return there == known


def _rebuild(lab: Lab, world: World) -> None:
    world.site.requestor.put("/nodepool/images/fake/request-build", b"")
    build_directly(world)
    _give_images(lab, world)


@row("zuul-launcher", "a whole Zuul reads what zuul_config and image_data write; its launcher launches nodes", ZUUL)
def zuul_launcher(lab: Lab) -> str:
    """Jobs ask for labels of Zuul's and for one of ours; new builds; what our builder has uploaded stays."""
    world = lab.world()
    _configure(world)
    build_directly(world)
    uploaded = _images(world)
    assert [len(found) for found in uploaded.values()] == [2, 2], uploaded
    _give_images(lab, world)
    objects, connections = _convert(world, OURS)
    wanted = {
        "asks-zuul": ("small", "large"),
        "asks-public": ("public",),
        "asks-reached": ("reached",),
        "asks-us": (OURS,),
    }
    jobs = [item for name, labels in wanted.items() for item in job(name, *labels)]
    client = lab.stack.enter_context(ZuulClient(lab, world, program=LAUNCHER_PROTOCOL))
    with Zuul(lab, world, connections, objects, jobs) as zuul:
        eventually(lambda: [node["state"] for node in client.do("nodes")] == ["ready"], PATIENCE)
        (spare,) = client.do("nodes")
        with world.site.stay():
            zuul.commit(CODE, {"README": "changed\n"})
            request = _fulfilled(client, "asks-zuul")
            (ours,) = world.site.requestor.children("/nodepool/requests")
            world.site.requestor.wait_for(ours, "fulfilled")
        others = [_fulfilled(client, name) for name in ("asks-public", "asks-reached")]
        _check_ways(world, client, [node for one in others for node in client.do("take", request=one)])
        taken = client.do("take", request=request)
        nodes = [node for node in client.do("nodes") if node["id"] in taken]
        assert spare["id"] in taken, (taken, spare)
        _check_nodes(world, nodes, request)
        assert _images(world) == uploaded, (_images(world), uploaded)

        for _number in range(2):
            _rebuild(lab, world)
        for one in (request, *others):
            client.do("give_back", request=one)
        eventually(lambda: [node["label"] for node in client.do("nodes")] == ["small"], PATIENCE)
        (left,) = client.do("nodes")
        assert left["id"] not in taken
        servers = [server for cloud in world.site.clouds.values() for server in cloud.servers()]
        theirs = [server["id"] for server in servers if "zuul_node_uuid" in server["metadata"]]
        assert theirs == [left["server"]], (theirs, left)
        assert world.site.clouds["three"].state()["floating_ips"] == 0
        eventually(lambda: _agrees(world), PATIENCE)
        for name in FORMATS:
            assert len(_external_ids(world, name)) == 2, _external_ids(world, name)
    return f"4 nodes launched as nodepool.yaml says, then deleted; our launcher served {OURS}; two images of each kept"
