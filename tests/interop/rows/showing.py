# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's command line beside our info modules, on a tree that our playbooks have filled."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.interop.filling import IMAGES, PROVIDERS, fill
from tests.interop.lab import Lab, World, row
from tests.interop.tables import Cells, differences, tables
from tests.support import stock_cli

Shown = Callable[[World], list[Cells]]


def filled(lab: Lab) -> World:
    """The tree of these rows."""
    return lab.kept("filled", fill)


def compared(
    world: World, theirs: Callable[[], list[Cells]], ours: Shown, *key: str, ages: tuple[str, ...] = ()
) -> str:
    """Compare a table of theirs with our rows.

    :raises AssertionError: they differ.
    """
    before = ours(world)
    table = theirs()
    after = ours(world)
    assert table, "the table is empty"
    found = differences(table, before, after, key, ages)
    assert not found, "\n".join(found)
    return f"{len(table)} rows, {len(table[0])} columns, no difference"


def as_cells(rows: list[dict[str, Any]], columns: Mapping[str, str]) -> list[Cells]:
    """Our rows as cells of theirs."""
    return [stock_cli.cells(one, columns) for one in rows]


BRIEF = {title: stock_cli.NODES[title] for title in list(stock_cli.NODES)[:9]}


@row("cli-list", "nodepool list = node_info")
def cli_list(lab: Lab) -> str:
    """Nodes."""
    world = filled(lab)
    return compared(
        world, lambda: world.stock.table("list"), lambda it: as_cells(it.show("node_info")["nodes"], BRIEF), "ID",
        ages=("Age",),
    )  # fmt: skip


@row("cli-list-detail", "nodepool list --detail = node_info with detail")
def cli_list_detail(lab: Lab) -> str:
    """Nodes, all columns."""
    world = filled(lab)
    states = {node["state"] for node in world.site.requestor.nodes().values()}
    assert {"ready", "in-use", "hold", "used"} <= states, states
    return compared(
        world,
        lambda: world.stock.table("list", "--detail"),
        lambda it: as_cells(it.show("node_info", detail=True)["nodes"], stock_cli.NODES),
        "ID",
        ages=("Age",),
    )


@row("cli-request-list", "nodepool request-list = request_info")
def cli_request_list(lab: Lab) -> str:
    """Requests."""
    world = filled(lab)
    return compared(
        world,
        lambda: world.stock.table("request-list"),
        lambda it: as_cells(it.show("request_info")["requests"], stock_cli.REQUESTS),
        "Request ID",
    )


def _uploads(world: World) -> list[Cells]:
    return as_cells(world.show("image_info")["uploads"], stock_cli.UPLOADS)


@row("cli-image-list", "nodepool image-list = image_info")
def cli_image_list(lab: Lab) -> str:
    """Uploads."""
    world = filled(lab)
    return compared(
        world, lambda: world.stock.table("image-list"), _uploads, "Build ID", "Provider", "Upload ID", ages=("Age",)
    )


def _builds(world: World) -> list[Cells]:
    told = world.show("dib_image_info")
    paused = {one["image"] for one in told["images"] if one["paused"]}
    rows = []
    for one in told["builds"]:
        shown = {**one, "state": "paused" if one["image"] in paused else one["state"]}
        rows.append({"ID": f"{one['image']}-{one['build_id']}", **stock_cli.cells(shown, stock_cli.BUILDS)})
    return rows


@row("cli-dib-image-list", "nodepool dib-image-list = dib_image_info, builds")
def cli_dib_image_list(lab: Lab) -> str:
    """Builds."""
    world = filled(lab)
    return compared(world, lambda: world.stock.table("dib-image-list"), _builds, "ID", ages=("Age",))


def _status(world: World) -> list[Cells]:
    rows = []
    for one in world.show("dib_image_info")["images"]:
        asked = ("building" if one["building"] else "pending") if one["requested"] else ""
        rows.append(
            {
                "Image": one["image"],
                "Paused": str(one["paused"]),
                "Build Request": asked,
                "Build Request Age": one["request_age_text"] or "",
            }
        )
    return rows


@row("cli-image-status", "nodepool image-status = dib_image_info, images")
def cli_image_status(lab: Lab) -> str:
    """Pauses and requested builds."""
    world = filled(lab)
    seen = compared(world, lambda: world.stock.table("image-status"), _status, "Image", ages=("Build Request Age",))
    (spare,) = [one for one in _status(world) if one["Image"] == "spare"]
    (fake,) = [one for one in _status(world) if one["Image"] == "fake"]
    assert (spare["Paused"], fake["Build Request"]) == ("True", "pending")
    return seen


@row("cli-info", "nodepool info PROVIDER = image_info and node_info of the provider")
def cli_info(lab: Lab) -> str:
    """What there is of a provider."""
    world = filled(lab)
    counts = []
    for name in PROVIDERS:
        images, nodes = tables(world.stock.say("info", name))
        uploads: dict[tuple[str, str], list[str]] = {}
        for one in world.show("image_info")["uploads"]:
            if one["provider"] == name:
                uploads.setdefault((one["image"], one["build_id"]), []).append(one["upload_id"])
        ours = [
            {"Image Name": image, "Build ID": build, "Upload IDs": ",".join(sorted(ids))}
            for (image, build), ids in uploads.items()
        ]
        found = differences(images, ours, ours, ("Image Name", "Build ID"), ())
        servers = [
            {"ID": one["id"], "Server ID": str(one["server_id"])}
            for one in world.show("node_info", providers=[name])["nodes"]
        ]
        found += differences(nodes, servers, servers, ("ID",), ())
        assert not found, "\n".join(found)
        counts.append(f"{name}: {len(images)} images, {len(nodes)} nodes")
    return "; ".join(counts)


@row("cli-alien-image-list", "nodepool alien-image-list, which Nodepool 11.0.0 cannot answer for OpenStack")
def cli_alien_image_list(lab: Lab) -> str:
    """An image of the builder's that no record names."""
    world = filled(lab)
    assert world.stock.table("alien-image-list") == [], "Nodepool lists images now: compare them"
    aliens = world.site.module("alien_image_info", clouds_config=str(world.site.clouds_yaml))["images"]
    assert aliens == [], aliens
    return "both are empty; Nodepool's is always, because it misses its adapter"


def _verdict(world: World, change: Callable[[dict[str, Any]], None]) -> tuple[bool, bool]:
    """Whether each of the two accepts a changed configuration."""
    good = world.site.config.read_text("utf-8")
    document = json.loads(good)
    change(document)
    path = world.site.folder / "changed.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    theirs = world.stock.beside(path).run("config-validate").returncode == 0
    ours = world.site.tried("nodepool_config_info", config=str(path), strict_config=True).result
    return theirs, not ours["failed"]


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "as it is": lambda document: None,
    "a label without a name": lambda document: document["labels"].append({}),
    "an unknown key of a label": lambda document: document["labels"][0].update({"min-redy": 1}),
    "an unknown key of a pool": lambda document: document["providers"][0]["pools"][0].update({"max-cors": 1}),
    "text for a number": lambda document: document["labels"][0].update({"min-ready": "many"}),
    "a label of a pool that no label defines": lambda document: document["providers"][0]["pools"][0]["labels"].append(
        {"name": "stray", "diskimage": IMAGES[0], "flavor-name": "small"}
    ),
    "a diskimage that is not defined": lambda document: document["providers"][0]["diskimages"].append(
        {"name": "no-such-image"}
    ),
    "an unknown key at the top": lambda document: document.update({"labls": []}),
    "an unknown driver": lambda document: document["providers"][0].update({"driver": "no-such-driver"}),
}


@row(
    "cli-config-validate",
    "nodepool config-validate and nodepool_config_info with strict_config accept and refuse the same files",
)
def cli_config_validate(lab: Lab) -> str:
    """Verdicts on changed files."""
    world = filled(lab)
    verdicts = {name: _verdict(world, change) for name, change in CHANGES.items()}
    wrong = [f"{name}: theirs {theirs}, ours {ours}" for name, (theirs, ours) in verdicts.items() if theirs != ours]
    assert not wrong, "\n".join(wrong)
    accepted = [name for name, (theirs, _ours) in verdicts.items() if theirs]
    return f"{len(verdicts)} files, accepted: {', '.join(accepted)}"
