# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree with something of everything, filled by the playbooks of the collection."""

from __future__ import annotations

from typing import Any

from tests.interop.lab import World
from tests.support.builder_case import ELEMENTS, image
from tests.support.launcher_case import label, pool, provider

IMAGES = ("fake", "spare")
PROVIDERS = {"one": "raw", "two": "qcow2"}
"""Name → the format of image that its cloud takes."""
MOST = 6
PLAY = {"launcher_duration": 90}


def configure(world: World, *, min_ready: int = 1, images: tuple[dict[str, Any], ...] = (), **top: Any) -> None:
    """Write the configuration: two providers that take all images, and offer a label made of the first."""
    site = world.site
    made = images or tuple(image(name) for name in IMAGES)
    names = [str(one["name"]) for one in made]
    for name, wanted in PROVIDERS.items():
        if name not in site.clouds:
            site.add_cloud(name, image_format=wanted)
    # Nodepool's builder does not make them.
    for folder in (world.host.images_dir, site.folder / "logs"):
        folder.mkdir(exist_ok=True)
    listed = [{"name": one} for one in names]
    main = pool("main", label("small", diskimage=names[0]), max_servers=MOST, node_attributes={"zone": "a"})
    site.configure(
        provider("one", main, diskimages=listed),
        provider("two", pool("spare", label("other", diskimage=names[-1], flavor_name="small")), diskimages=listed),
        labels={"small": {"min-ready": min_ready}},
        diskimages=[{"rebuild-age": 10**6, **one} for one in made],
        images_dir=str(world.host.images_dir),
        build_log_dir=str(site.folder / "logs"),
        elements_dir=str(ELEMENTS),
        **top,
    )


def build(world: World) -> None:
    """One pass of our builder's playbook."""
    ran = world.host.play("builder.yml", builder_first_build_room=0)
    assert ran.returncode == 0, ran.stdout[-3000:]


def launch(world: World) -> None:
    """Our launcher's playbook, until it is settled."""
    ran = world.host.play("launcher.yml", **PLAY)
    assert ran.returncode == 0, ran.stdout[-3000:]


def fill(world: World) -> None:
    """Images and uploads; nodes ready, in use, held, used; requests fulfilled, waiting and failed."""
    configure(world)
    build(world)
    requestor = world.site.requestor
    taken, held, given, kept = (requestor.ask("small") for _number in range(4))
    nowhere = requestor.ask("small", "no-such-label", priority=100)
    launch(world)
    requestor.wait_for(nowhere, "failed")
    requestor.accept(taken)
    requestor.hold_at_once(*requestor.accept(held))
    requestor.give_back(*requestor.accept(given))
    assert requestor.state(kept) == "fulfilled"
    for place in range(2):
        requestor.ask("small", "small", "small", "small", "small", relative_priority=place, tenant=None)
    world.site.requestor.put("/nodepool/images/spare/pause", b"")
    world.site.requestor.put("/nodepool/images/fake/request-build", b"")


def build_directly(world: World) -> None:
    """The same work by the modules alone, without Ansible around them: deletions and uploads, builds, uploads."""
    files = world.site.files()
    files.pop("config")
    own: dict[str, Any] = {**files, "state_dir": str(world.site.folder / "state")}
    world.site.module("dib_build", first_build_room=0, **own)
    world.site.module("image_upload", **own)
