# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Nodepool's command line asks for is done by our cycles."""

from __future__ import annotations

import json
from typing import Any

from tests.interop.filling import build_directly, configure
from tests.interop.lab import Lab, World, row
from tests.support.builder_case import image
from tests.support.fixtures_zookeeper import eventually

FAKE = "fake"


def settled(lab: Lab, min_ready: int = 1) -> World:
    """A tree with one image at both providers, and as many ready nodes as wanted."""
    world = lab.world()
    configure(world, min_ready=min_ready, images=(image(FAKE),))
    build_directly(world)
    world.site.run()
    return world


def only_node(world: World) -> str:
    """The id of the one node."""
    (ident,) = world.site.requestor.nodes()
    return ident


def servers(world: World) -> list[str]:
    """Names of the servers in the cloud."""
    return sorted(server["name"] for server in world.site.cloud.servers())


@row("cli-hold", "nodepool hold: our launcher keeps the node and launches another; nodepool delete: it deletes both")
def cli_hold(lab: Lab) -> str:
    """hold, then delete."""
    world = settled(lab)
    node = only_node(world)
    (shown,) = world.stock.table("hold", node)
    assert (shown["ID"], shown["State"]) == (node, "hold"), shown
    world.site.run()
    kept = world.site.requestor.nodes()
    assert len(kept) == 2 and kept[node]["state"] == "hold", kept
    assert f"np{node}" in servers(world)
    (shown,) = world.stock.table("delete", node)
    assert (shown["ID"], shown["State"]) == (node, "deleting"), shown
    world.site.run()
    left = world.site.requestor.nodes()
    assert node not in left and len(left) == 1, left
    assert servers(world) == [f"np{only_node(world)}"]
    return "held: kept and replaced; deleted: server and record are gone"


@row(
    "cli-delete-now",
    "nodepool delete --now beside our acting launcher: the server no longer exists, min-ready is restored",
)
def cli_delete_now(lab: Lab) -> str:
    """The command line deletes the server itself."""
    world = settled(lab)
    node = only_node(world)
    with world.site.stay() as cycle:
        eventually(cycle.acts, 60)
        world.stock.say("delete", "--now", node)
        world.site.requestor.wait_gone([node], 120)
        eventually(lambda: _ready(world), 120)
    assert servers(world) == [f"np{only_node(world)}"]
    return "one server before, another one after"


def _ready(world: World) -> bool:
    return [one["state"] for one in world.site.requestor.nodes().values()] == ["ready"]


@row("cli-image-build", "nodepool image-build, image-pause, image-unpause: our builder waits, then builds")
def cli_image_build(lab: Lab) -> str:
    """A requested build, with the image paused meanwhile."""
    world = settled(lab, 0)
    before = set(world.host.builds(FAKE))
    world.stock.say("image-build", FAKE)
    world.stock.say("image-pause", FAKE)
    build_directly(world)
    assert set(world.host.builds(FAKE)) == before, "a paused image was built"
    world.stock.say("image-unpause", FAKE)
    build_directly(world)
    new = world.host.builds(FAKE).keys() - before
    assert len(new) == 1, new
    (status,) = world.stock.table("image-status")
    assert (status["Build Request"], status["Paused"]) == ("", "False"), status
    assert set(world.host.uploads(FAKE, "one")) == before | new
    return "paused: not built; unpaused: built, uploaded, the request is gone"


@row("cli-image-delete", "nodepool image-delete: our builder deletes the image in the cloud and uploads it again")
def cli_image_delete(lab: Lab) -> str:
    """One upload is deleted."""
    world = settled(lab, 0)
    (upload,) = [one for one in world.show("image_info")["uploads"] if one["provider"] == "one"]
    world.stock.say(
        "image-delete", "--provider", "one", "--image", FAKE, "--build-id", upload["build_id"],
        "--upload-id", upload["upload_id"],
    )  # fmt: skip
    build_directly(world)
    in_cloud = world.host.in_cloud("one")
    (now,) = [one for one in world.show("image_info")["uploads"] if one["provider"] == "one"]
    assert upload["external_id"] not in in_cloud and list(in_cloud) == [now["external_id"]], in_cloud
    assert now["upload_id"] > upload["upload_id"] and now["state"] == "ready", now
    return f"upload {upload['upload_id']} is gone, {now['upload_id']} is ready"


@row("cli-dib-image-delete", "nodepool dib-image-delete: our builder deletes uploads, files and the record")
def cli_dib_image_delete(lab: Lab) -> str:
    """The older of two builds is deleted."""
    world = settled(lab, 0)
    (old,) = world.host.builds(FAKE)
    world.stock.say("image-build", FAKE)
    build_directly(world)
    world.stock.say("dib-image-delete", f"{FAKE}-{old}")
    build_directly(world)
    build_directly(world)
    left = world.host.builds(FAKE)
    assert old not in left and len(left) == 1, left
    assert not [name for name in world.host.files() if old in name], world.host.files()
    assert [len(world.host.in_cloud(name)) for name in ("one", "two")] == [1, 1]
    return "one build, one upload for each provider and their files are left"


@row("cli-erase", "nodepool erase PROVIDER --force: our launcher and leak clean-up take over what is left in the cloud")
def cli_erase(lab: Lab) -> str:
    """The records of a provider vanish; its servers and images stay."""
    world = settled(lab)
    node = only_node(world)
    world.stock.say("erase", "one", "--force")
    assert world.site.requestor.nodes() == {}
    assert servers(world) == [f"np{node}"]
    build_directly(world)
    world.site.run()
    again = only_node(world)
    swept = {"min_age": 0, "wait": 2, "clouds_config": str(world.site.clouds_yaml)}
    eventually(lambda: _swept(world, again, swept), 120)
    uploads = [one["external_id"] for one in world.show("image_info")["uploads"] if one["provider"] == "one"]
    assert list(world.host.in_cloud("one")) == uploads, world.host.in_cloud("one")
    return "launched and uploaded again; the former server and image were leaks and are gone"


def _swept(world: World, node: str, options: dict[str, Any]) -> bool:
    world.site.module("leak_cleanup", **options)
    return servers(world) == [f"np{node}"] and len(world.host.in_cloud("one")) == 1


@row("cli-export-import", "export-image-data, import-image-data and image_data read each other's files")
def cli_export_import(lab: Lab) -> str:
    """From one tree to another, in both ways."""
    world = settled(lab, 0)
    world.stock.say("image-pause", FAKE)
    theirs, ours = world.site.folder / "theirs.json", world.site.folder / "ours.json"
    world.stock.say("export-image-data", str(theirs))
    world.site.module("image_data", path=str(ours), state="exported")
    written = json.loads(theirs.read_text("utf-8"))
    assert json.loads(ours.read_text("utf-8")) == written, "the two files differ"
    assert theirs.stat().st_mode == ours.stat().st_mode
    images = world.stock.table("image-list")
    second, third = lab.world(), lab.world()
    for other in (second, third):
        configure(other, images=(image(FAKE),))
    second.stock.say("import-image-data", str(ours))
    third.site.module("image_data", path=str(theirs), state="imported")
    for other in (second, third):
        again = other.site.folder / "again.json"
        other.site.module("image_data", path=str(again), state="exported")
        assert json.loads(again.read_text("utf-8")) == written, "what was imported differs"
    return f"{len(written)} znodes of {len(images)} uploads; four files are the same"


@row("cli-ours-acts", "our modules node, request and provider act; Nodepool's command line shows it")
def cli_ours_acts(lab: Lab) -> str:
    """The other way round."""
    world = settled(lab)
    node = only_node(world)
    world.site.module("node", ids=[node], state="held", comment="to look at", hold_job="t p j r")
    (shown,) = world.stock.table("list", "--detail")
    assert (shown["State"], shown["Comment"], shown["Hold Job"]) == ("hold", "to look at", "t p j r"), shown
    request = world.site.requestor.ask("small")
    world.site.module("request", ids=[request], state="absent")
    assert world.stock.table("request-list") == []
    world.site.module("node", ids=[node], state="absent")
    (shown,) = world.stock.table("list")
    assert shown["State"] == "deleting", shown
    return "held, withdrawn, deleted"
