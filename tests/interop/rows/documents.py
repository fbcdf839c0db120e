# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents of one life, from Nodepool's programs and from ours, compared key by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial

from tests.interop.documents import differences, lives
from tests.interop.filling import build_directly, configure
from tests.interop.lab import Lab, World, row
from tests.support.builder_case import image
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import label, pool, provider

_WITH_READY = "ours is written together with ready, one write less"
REQUEST_ALLOWED = {
    **{
        f"node.{key}@building": _WITH_READY
        for key in ("az", "cloud", "host_id", "interface_ip", "private_ipv4", "public_ipv4", "public_ipv6")
    },
    "launcher.states": "Nodepool registers as stopped before it starts its threads",
    "node.states": "Nodepool deletes a record in several steps, of which this is the first; ours goes in one",
}
BUILD_ALLOWED = {
    f"upload.{key}@uploading": "ours is written before the data is sent, so that a killed upload is found again"
    for key in ("external_id", "external_name", "format")
}
"""``entity.key``, ``entity.key@state`` → why it may differ."""
PATIENCE = 240.0


def _one_request(world: World, at_work: AbstractContextManager[object]) -> None:
    """A node is asked for, taken, given back, and gone."""
    requestor = world.site.requestor
    with at_work:
        eventually(lambda: requestor.children("/nodepool/components/pool"), PATIENCE)
        request = requestor.ask("small", event_id="event", requestor_data={"job_name": "tox"})
        requestor.wait_for(request, "fulfilled", PATIENCE)
        nodes = requestor.accept(request)
        requestor.give_back(*nodes)
        requestor.wait_gone(nodes, PATIENCE)
    # Nodepool's launcher is killed: its registrations end with its session.
    for kind in ("pool", "launcher"):
        eventually(partial(_none_left, world, f"/nodepool/components/{kind}"), PATIENCE)


def _none_left(world: World, path: str) -> bool:
    return not world.site.requestor.children(path)


def _compare(lab: Lab, both: Mapping[str, World], entities: tuple[str, ...], allowed: Mapping[str, str]) -> str:
    data = lab.zookeeper.directory / "data"
    found = {name: lives(data, world.site.chroot) for name, world in both.items()}
    wrong, counts = [], []
    for entity in entities:
        theirs, ours = found["theirs"][entity], found["ours"][entity]
        assert len(theirs) == len(ours) >= 1, f"{entity}: {len(theirs)}, ours {len(ours)}"
        wrong += [f"{about}: {text}" for one, other in zip(theirs, ours, strict=True)
                  for about, text in differences(entity, one, other, allowed)]  # fmt: skip
        counts.append(f"{entity}: {len(theirs[0].documents)} documents, ours {len(ours[0].documents)}")
    assert not wrong, "\n".join(wrong)
    return "; ".join(counts) + "".join(f"\nallowed: {line}" for line in _told(allowed))


def _told(allowed: Mapping[str, str]) -> list[str]:
    """A line for each reason."""
    reasons = dict.fromkeys(allowed.values())
    return [f"{', '.join(key for key in allowed if allowed[key] == reason)}: {reason}" for reason in reasons]


def _pair(lab: Lab, set_up: Callable[[World], None]) -> dict[str, World]:
    both = {"theirs": lab.world(), "ours": lab.world()}
    for world in both.values():
        set_up(world)
    return both


def _plain(world: World) -> None:
    main = pool("main", label("small"), node_attributes={"executor-zone": "west"})
    world.site.configure(provider("one", main))


@row("documents-request", "request, node and registrations from submission to the end of the node, key by key")
def documents_request(lab: Lab) -> str:
    """One request's life."""
    both = _pair(lab, _plain)
    _one_request(both["theirs"], both["theirs"].stock.launcher("--no-webapp"))
    _one_request(both["ours"], both["ours"].site.stay())
    return _compare(lab, both, ("request", "node", "pool", "launcher"), REQUEST_ALLOWED)


@row("documents-image", "build and uploads until they are ready, key by key")
def documents_image(lab: Lab) -> str:
    """One image's life until it is ready."""
    both = _pair(lab, lambda world: configure(world, min_ready=0, images=(image("fake"),)))
    with both["theirs"].stock.builder("--build-workers", "1"):
        eventually(lambda: _uploaded(both["theirs"]), PATIENCE)
    build_directly(both["ours"])
    assert _uploaded(both["ours"])
    return _compare(lab, both, ("build", "upload"), BUILD_ALLOWED)


def _uploaded(world: World) -> bool:
    """Whether both providers have the image."""
    uploads = [found for name in ("one", "two") for found in world.host.uploads("fake", name).values()]
    return [[one["state"] for one in found] for found in uploads] == [["ready"], ["ready"]]
