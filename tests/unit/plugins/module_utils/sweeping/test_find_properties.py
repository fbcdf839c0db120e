# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random projects full of other people's things: only what leaked goes, and all of it does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    IMAGE_BUILD,
    IMAGE_UPLOAD,
    META_LAUNCH,
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
    FloatingIp,
    Image,
    Port,
    Server,
    Volume,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload, UploadState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch, floating_ip_description
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.tombstone import Tombstone, Tombstones
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.candidate import Kind, Ownership
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.find import AdoptionRules, Known, Seen, find
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.judge import Judgement, Rules, judge
from tests.support.effort import examples

TREE, OTHER = "a" * 32, "b" * 32
NOW = 1_800_000_000.0
RULES = Rules(min_age=600, distance=60, most=10_000)
OLD, YOUNG = NOW - 5000, NOW - 30
KINDS = (*Kind.CLOUD, Kind.LAUNCH)

# Whose a node's things are: nobody's any more, or somebody's for each of these reasons.
USES = {
    "gone": None,
    "in-use": NodeState.IN_USE,
    "held": NodeState.HOLD,
    "building": NodeState.BUILDING,
    "init": NodeState.INIT,
    "ready": NodeState.READY,
    "ready-locked": NodeState.READY,
    "used": NodeState.USED,
    "deleting": NodeState.DELETING,
    "unreadable": None,
}


@dataclass
class Project:
    """A cloud and a tree.

    *leaked* are the keys of what is nobody's, old and of this provider and tree; *strange* bears this provider's name,
    and nothing else says that it is this tree's.
    """

    nodes: dict[str, Node | None] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)
    launches: dict[str, Launch] = field(default_factory=dict)
    tombstones: list[Tombstone] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    servers: dict[str, Server] = field(default_factory=dict)
    ports: list[Port] = field(default_factory=list)
    floating_ips: list[FloatingIp] = field(default_factory=list)
    volumes: list[Volume] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    leaked: set[str] = field(default_factory=set)
    young: set[str] = field(default_factory=set)
    strange: set[str] = field(default_factory=set)

    def expect(self, key: str, created: float) -> None:
        """That will have to go, as soon as it is old."""
        (self.young if created > NOW - 600 else self.leaked).add(key)

    @property
    def known(self) -> Known:
        return Known(
            "east",
            self.nodes,
            self.locked.__contains__,
            self.launches.get,
            tuple(self.launches),
            lambda: Tombstones(self.tombstones),
            lambda: self.uploads,
            TREE,
        )

    def look(self) -> Seen:
        return Seen(self.servers, self.ports, self.floating_ips, self.volumes, self.images)


def iso(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def metadata(provider: str, node_id: str, mark: str | None, tree: str) -> dict[str, str]:
    signed = {**({META_LAUNCH: mark} if mark else {}), **({META_SITE: tree} if tree else {})}
    return {META_PROVIDER: provider, META_NODE_ID: node_id, **signed}


def add_node(project: Project, number: int, use: str, owner: str) -> str:
    """A node of that use; its id."""
    node_id = f"{number:010d}"
    if use == "unreadable":
        project.nodes[node_id] = None
    state = USES[use]
    if state is not None:
        node = Node(provider=owner, type=["small"], external_id=f"server-{number}")
        node.id = node_id
        node.set_state(state, NOW)
        project.nodes[node_id] = node
        if use in ("in-use", "building", "init", "ready-locked", "deleting"):
            project.locked.add(node_id)
        project.launches[node_id] = Launch(node_id, owner, "main", "small", mark="m", server_id=f"server-{number}")
    return node_id


@st.composite
def projects(draw) -> Project:
    project = Project()
    for number in range(draw(st.integers(1, 25))):
        use = draw(st.sampled_from(sorted(USES)))
        owner = draw(st.sampled_from(("east", "east", "west", "nodepool-east")))
        node_id = add_node(project, number, use, owner)
        if draw(st.booleans()):
            add_server(project, number, node_id, use, owner, draw(st.sampled_from((OLD, YOUNG))), draw)
        elif use == "gone":
            add_remains(project, number, node_id, owner, draw(st.sampled_from((OLD, YOUNG))), draw(st.booleans()))
        if draw(st.booleans()):
            add_floating_ip(project, number, node_id, use, owner, draw(st.sampled_from((OLD, YOUNG))), draw)
    for number in range(draw(st.integers(0, 5))):
        add_foreign(project, number)
        add_image(project, number, draw)
    return project


def add_server(project: Project, number: int, node_id: str, use: str, owner: str, created: float, draw) -> None:
    """The node's server, or another tree's for a node of the same number; stock ones carry Nodepool's metadata only."""
    mark = draw(st.sampled_from((None, f"{node_id}-1-{number}")))
    tree = draw(st.sampled_from((TREE, TREE, OTHER, "")))
    known = metadata(owner, node_id, mark, tree)
    server = Server(f"server-{number}", f"np{node_id}", "ACTIVE", known, created=iso(created))
    project.servers[server.id] = server
    project.ports.append(Port(f"port-{number}", server.id, "n", status="DOWN", created=iso(OLD)))
    project.volumes.append(Volume(f"volume-{number}", "", "in-use", (server.id,), created=iso(OLD)))
    buried = draw(st.sampled_from(("", "", "servers", "marks"))) if use == "gone" and mark else ""
    if buried:
        stone = Tombstone(node_id, NOW)
        getattr(stone, buried).append(server.id if buried == "servers" else mark)
        project.tombstones.append(stone)
    if use == "gone" and owner == "east":
        if tree == TREE or buried:
            project.expect(f"{Kind.SERVER}/{server.id}", created)
        else:
            project.strange.add(f"{Kind.SERVER}/{server.id}")


def add_remains(project: Project, number: int, node_id: str, owner: str, created: float, buried: bool) -> None:
    """Port and volume of a server that is gone: ours when a tombstone says so."""
    owner_type = "compute:az1" if number % 2 else ""
    project.ports.append(Port(f"port-{number}", f"server-{number}", "n", (), "DOWN", owner_type, "", iso(created)))
    project.volumes.append(Volume(f"volume-{number}", "", "available", (), created=iso(created)))
    if buried and owner == "east":
        stone = Tombstone(node_id, NOW, servers=[f"server-{number}"], volumes=[f"volume-{number}"])
        project.tombstones.append(stone)
        project.expect(f"{Kind.PORT}/port-{number}", created)
        project.expect(f"{Kind.VOLUME}/volume-{number}", created)


def add_floating_ip(project: Project, number: int, node_id: str, use: str, owner: str, created: float, draw) -> None:
    attached = draw(st.booleans())
    written = draw(st.sampled_from(("west", "", "bastion", None)))
    tree = draw(st.sampled_from((TREE, TREE, OTHER)))
    text = floating_ip_description(f"{node_id}-1-n", owner, tree) if written is None else written
    if written == "west":
        text = floating_ip_description(f"{node_id}-1-n", "west", tree)
    made = FloatingIp(
        f"fip-{number}", f"192.0.2.{number}", "DOWN", "some-port" if attached else None, text, iso(created)
    )
    project.floating_ips.append(made)
    node = project.nodes.get(node_id)
    if written is None and owner == "east" and not attached:
        if tree != TREE:
            project.strange.add(f"{Kind.FLOATING_IP}/{made.id}")
        elif use in ("gone", "ready"):
            project.expect(f"{Kind.FLOATING_IP}/{made.id}", created)
    assert node is None or use != "gone"


def add_foreign(project: Project, number: int) -> None:
    """What other people have."""
    project.servers[f"web-{number}"] = Server(f"web-{number}", "web", "ACTIVE", created=iso(OLD))
    project.ports.append(Port(f"vip-{number}", "", "n", (), "DOWN", "", "keepalived", iso(OLD)))
    project.ports.append(Port(f"dhcp-{number}", "x", "n", (), "DOWN", "network:dhcp", "", iso(OLD)))
    project.volumes.append(Volume(f"data-{number}", "data", "available", (), created=iso(OLD)))
    project.images.append(Image(f"debian-{number}", "debian", "active", created=iso(OLD)))


def add_image(project: Project, number: int, draw) -> None:
    owner = draw(st.sampled_from(("east", "west")))
    build, upload_id = f"{number:032x}", "0000000001"
    tree = draw(st.sampled_from((TREE, TREE, OTHER, "")))
    signed = {META_SITE: tree} if tree else {}
    properties = {META_PROVIDER: owner, IMAGE_BUILD: build, IMAGE_UPLOAD: upload_id, **signed}
    created = draw(st.sampled_from((OLD, YOUNG)))
    project.images.append(Image(f"image-{number}", "x", "active", properties, iso(created)))
    state = draw(st.sampled_from(("none", "ready", "uploading", "other-image")))
    if state != "none":
        upload = Upload(build_id=build, provider=owner, path=f"/x/{upload_id}")
        upload.state = UploadState.UPLOADING if state == "uploading" else UploadState.READY
        upload.external_id = {"ready": f"image-{number}", "other-image": "another"}.get(state)
        project.uploads.append(upload)
    if owner == "east" and state in ("none", "other-image"):
        if tree == TREE or (not tree and state == "other-image"):
            project.expect(f"{Kind.IMAGE}/image-{number}", created)
        else:
            project.strange.add(f"{Kind.IMAGE}/image-{number}")


def look(project: Project, before: Judgement, when: float, rules: Rules = RULES) -> Judgement:
    return judge(find(project.look(), project.known), KINDS, before.sightings, rules, when)


def due(judgement: Judgement) -> set[str]:
    return {row.candidate.key for row in judgement.due}


@settings(max_examples=examples(60), deadline=None)
@given(projects())
def test_exactly_what_leaked_goes_after_two_looks(project):
    first = look(project, Judgement(), NOW)
    assert due(first) == set()
    soon = look(project, first, NOW + 59)
    assert due(soon) == set()
    assert due(look(project, soon, NOW + 60)) == project.leaked
    # What was young becomes old.
    assert due(look(project, soon, NOW + 700)) == project.leaked | project.young


@settings(max_examples=examples(50), deadline=None)
@given(projects())
def test_foreign_things_are_listed_and_never_due(project):
    rows = look(project, Judgement(), NOW).rows
    foreign = {row.candidate.id for row in rows if row.candidate.ownership == Ownership.FOREIGN}
    for number in range(len([1 for ident in project.servers if ident.startswith("web-")])):
        assert {f"web-{number}", f"vip-{number}", f"data-{number}"} <= foreign
        assert f"dhcp-{number}" not in foreign
    assert foreign.isdisjoint(key.split("/", 1)[1] for key in project.leaked | project.young)
    assert all(row.candidate.text for row in rows)


@settings(max_examples=examples(50), deadline=None)
@given(projects(), st.data())
def test_what_vanishes_between_two_looks_begins_anew(project, data):
    first = look(project, Judgement(), NOW)
    keys = sorted(project.leaked)
    hidden = set(data.draw(st.lists(st.sampled_from(keys), unique=True))) if keys else set()
    candidates = [candidate for candidate in find(project.look(), project.known) if candidate.key not in hidden]
    between = judge(candidates, KINDS, first.sightings, RULES, NOW + 100)
    assert due(look(project, between, NOW + 150)) == project.leaked - hidden


@settings(max_examples=examples(50), deadline=None)
@given(projects(), st.integers(0, 3))
def test_the_bound_is_kept(project, most):
    rules = Rules(RULES.min_age, RULES.distance, most)
    second = look(project, look(project, Judgement(), NOW, rules), NOW + 100, rules)
    assert len(second.due) == min(most, len(project.leaked))


@settings(max_examples=examples(50), deadline=None)
@given(projects())
def test_kinds_that_were_not_looked_for_keep_their_sightings(project):
    first = look(project, Judgement(), NOW)
    servers_only = Seen(servers=project.servers)
    second = judge(find(servers_only, project.known), (Kind.SERVER,), first.sightings, RULES, NOW + 100)
    assert {key for key in first.sightings if not key.startswith("server/")} <= set(second.sightings)
    assert all(row.candidate.kind in (Kind.SERVER, Kind.LAUNCH) for row in second.rows)


@settings(max_examples=examples(50), deadline=None)
@given(projects())
def test_what_bears_our_providers_name_alone_is_foreign(project):
    rows = look(project, look(project, Judgement(), NOW), NOW + 10_000).rows
    foreign = {row.candidate.key: row.candidate for row in rows if row.candidate.ownership == Ownership.FOREIGN}
    assert project.strange <= set(foreign)
    assert {foreign[key].code for key in project.strange} <= {"other-tree", "no-tree"}


@settings(max_examples=examples(50), deadline=None)
@given(projects(), st.booleans(), st.sampled_from((None, 0.0)))
def test_a_claim_takes_what_it_names_and_nothing_that_a_node_has(project, site, unmarked):
    claims = AdoptionRules((OTHER,) if site else (), unmarked)
    known = replace(project.known, claims=claims)
    found = find(project.look(), known)
    leaked = {candidate.key: candidate for candidate in found if candidate.ownership == Ownership.LEAKED}
    assert project.leaked | project.young <= set(leaked)
    for key in set(leaked) - project.leaked - project.young:
        assert leaked[key].code == ("tree-adopted" if leaked[key].figures.get("site") else "unmarked-adopted")
        assert leaked[key].figures.get("site") in (OTHER, None)
    in_use = {node.external_id for node in project.nodes.values() if node is not None}
    assert not {candidate.id for candidate in leaked.values() if candidate.kind == Kind.SERVER} & in_use
    if site:
        left = {candidate.id for candidate in found if candidate.code == "other-tree" and candidate.kind != Kind.IMAGE}
        assert left <= in_use | {address.id for address in project.floating_ips}
    if unmarked is not None:
        assert all(
            candidate.node_id not in project.nodes
            for candidate in leaked.values()
            if candidate.code == "unmarked-adopted"
        )
