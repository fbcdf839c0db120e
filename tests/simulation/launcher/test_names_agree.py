# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a cloud has and a label names: launcher, check mode and the check of a configuration come to one verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import NetworkRoles
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    IMAGE_BUILD,
    META_PROVIDER,
    Flavor,
    Image,
    Network,
    SecurityGroup,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)
from tests.support.check_mode import check_configuration, check_mode
from tests.support.effort import examples
from tests.support.world import World, provider_document, site

WAIT, SERVE, REFUSE = "wait", "serve", "refuse"
IDS = re.compile(r"\b[figsu]\d-id\b")
STATUSES = ["active", "active", "queued", "saving", "importing", "deactivated", "killed"]


def some(make: Any, most: int = 3, least: int = 0) -> Any:
    """Up to *most* things; *make* gets their numbers."""
    return st.integers(least, most).flatmap(lambda count: st.tuples(*(make(number) for number in range(count))))


IMAGES = some(
    lambda number: st.builds(
        Image,
        st.just(f"i{number}-id"),
        st.sampled_from(["deb", "deb", "other"]),
        st.sampled_from(STATUSES),
        unlisted=st.sampled_from(["", "", "hidden", "community"]),
    )
)
FLAVORS = some(
    lambda number: st.builds(
        Flavor,
        st.just(f"f{number}-id"),
        st.sampled_from(["small", "small", "smaller"]),
        st.just(1),
        st.sampled_from([512, 1024, 4096]),
    ),
    least=1,
)
NETWORKS = some(
    lambda number: st.builds(
        Network,
        st.just(f"n{number}-id"),
        st.sampled_from(["net", "net", "wan"]),
        external=st.booleans(),
        automatic=st.booleans(),
        has_subnet=st.sampled_from([True, True, False]),
    ),
    least=1,
)
GROUPS = some(
    lambda number: st.builds(
        SecurityGroup,
        st.just(f"s{number}-id"),
        st.sampled_from(["web", "web", "default"]),
        st.sampled_from([True, True, False]),
    ),
    least=1,
)
UPLOADS = some(lambda number: st.tuples(st.sampled_from(STATUSES), st.booleans()), least=1)
"""Of each upload the status of its image, and whether glance has it."""


@dataclass(frozen=True)
class Case:
    """What a cloud has, and what a label names."""

    images: tuple[Image, ...] = ()
    flavors: tuple[Flavor, ...] = ()
    nets: tuple[Network, ...] = ()
    groups: tuple[SecurityGroup, ...] = ()
    keypairs: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    uploads: tuple[tuple[str, bool], ...] = ()
    roles: NetworkRoles = field(default_factory=NetworkRoles)
    label: dict[str, Any] = field(default_factory=dict)
    image: dict[str, Any] = field(default_factory=dict)
    pool: dict[str, Any] = field(default_factory=dict)


def names(*choices: str) -> Any:
    return st.lists(st.sampled_from(choices), max_size=2, unique=True)


def without_empty(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value not in (None, [])}


GOOD = {
    "images": (Image("i0-id", "deb", "active"),),
    "flavors": (Flavor("f0-id", "small", 1, 1024), Flavor("f1-id", "smaller", 1, 512)),
    "nets": (Network("n0-id", "net", automatic=True), Network("n1-id", "wan")),
    "groups": (SecurityGroup("s0-id", "web"), SecurityGroup("s1-id", "default")),
    "keypairs": ("ci",),
    "zones": ("az1", "az2"),
    "uploads": (("active", True),),
    "roles": NetworkRoles(),
}
"""A cloud in which each name means one thing."""
ODD = {
    "images": IMAGES,
    "flavors": FLAVORS,
    "nets": NETWORKS,
    "groups": GROUPS,
    "keypairs": st.just(()),
    "zones": st.just(("az1",)),
    "uploads": UPLOADS,
    "roles": st.builds(
        NetworkRoles,
        nat_source=st.sampled_from([None, "wan", "net", "nope"]),
        nat_destination=st.sampled_from([None, "net", "nope"]),
    ),
}


@st.composite
def cloud_and_label(draw: st.DrawFn) -> Case:
    """A good cloud of which a part or two may be odd, and a label."""
    odd = draw(st.sets(st.sampled_from(sorted(ODD)), max_size=2))
    return replace(draw(LABELS), **{**GOOD, **{name: draw(ODD[name]) for name in sorted(odd)}})


LABELS = st.builds(
    Case,
    label=st.fixed_dictionaries(
        {
            "flavor-name": st.sampled_from(["small", "small", "f1-id", None]),
            "min-ram": st.sampled_from([None, None, 600]),
            "key-name": st.sampled_from([None, None, "ci"]),
            "diskimage": st.sampled_from([None, None, "built"]),
        }
    ),
    image=st.sampled_from(
        [{}, {"image-name": "deb"}, {"image-name": "i0-id"}, {"image-id": "i0-id"}, {"image-id": "deb"}]
    ),
    pool=st.fixed_dictionaries(
        {
            "networks": names("net", "n1-id", "wan"),
            "security-groups": names("web", "s1-id"),
            "availability-zones": names("az1", "az2"),
            "auto-floating-ip": st.sampled_from([None, False]),
        }
    ).map(without_empty),
)


def document(case: Case) -> dict[str, Any]:
    label = {"name": "small", **without_empty(case.label)}
    if "flavor-name" not in label:
        label.setdefault("min-ram", 600)
    if "diskimage" not in label:
        label["cloud-image"] = "deb"
    provider = provider_document(
        "east",
        {"name": "main", "labels": [label], **case.pool},
        **{"cloud-images": [{"name": "deb", **case.image}], "diskimages": [{"name": "built"}]},
    )
    return site(provider, diskimages=[{"name": "built", "formats": ["qcow2"]}])


def fill(world: World, case: Case) -> None:
    """Upload what builders have uploaded."""
    cloud = world.clouds["east"]
    for number, (status, there) in enumerate(case.uploads):
        build = Build(image="built", id=f"{number:032x}")
        build.set_state(BuildState.READY, float(number))
        world.store.images.create_build(build)
        ident = f"u{number}-id"
        upload = Upload(image="built", build_id=build.id, provider="east", external_id=ident)
        upload.set_state(UploadState.READY, float(number))
        world.store.images.create_upload(upload)
        if there:
            marks = {IMAGE_BUILD: build.id, META_PROVIDER: "east"}
            created = f"2026-01-0{number + 1}T00:00:00Z"
            cloud.own_images[ident] = Image(ident, f"built-{number}", status, marks, created=created)


def candidates(told: str) -> set[str]:
    """The ids in the words, but for what the label itself names."""
    return set(IDS.findall(re.sub(r"'[^']*'", "", told)))


def verdict(result: dict[str, Any]) -> tuple[str, set[str]]:
    """(refused or not, the ids in the words)."""
    told = "; ".join(result["unusable"])
    return (REFUSE if told else SERVE), candidates(told)


def launched(world: World) -> tuple[str, set[str]]:
    """What becomes of a request; no server is created for one that is refused."""
    cycle = world.start()
    request = world.request("small")
    world.run(200, until=lambda: request in world.fulfilled or world.state(request) == "failed")
    creates = [kind for client in cycle.clients for _when, kind in client.calls if kind == "POST /servers"]
    if request in world.fulfilled:
        return SERVE, set()
    told = str(world.store.own.get(f"waits/{request}"))
    if world.state(request) == "failed":
        told = "; ".join(reason["text"] for reason in cycle.account.failed[request])
        assert not creates, told
        return REFUSE, candidates(told)
    return WAIT, candidates(told)


@settings(max_examples=examples(60))
@given(cloud_and_label())
def test_launcher_check_mode_and_the_check_of_the_configuration_agree(case):
    clouds = {
        "images": case.images,
        "flavors": case.flavors,
        "nets": case.nets,
        "security_groups": case.groups,
        "keypairs": case.keypairs,
        "zones": case.zones,
        "roles": case.roles,
    }
    with World(document(case), clouds={"east": clouds}) as world, check_mode(world) as run:
        fill(world, case)
        result = check_configuration(world)
        seen, told = verdict(run()), verdict(result)
        outcome, ids = launched(world)
        assert seen[1] == told[1]
        assert seen[0] == told[0]
        if outcome == SERVE:
            assert told == (SERVE, set())
        elif outcome == REFUSE:
            # The launcher does not ask about uploads before a create.
            assert told[0] == REFUSE and ids == {ident for ident in told[1] if not ident.startswith("u")}
        else:
            assert case.label["diskimage"] or result["warnings"], "the image is on its way, or an upload is not usable"
