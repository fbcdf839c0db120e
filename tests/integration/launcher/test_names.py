# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that mean several things, or something that cannot be used, by the real playbooks on simulated clouds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.ansible_run import ROOT, command
from tests.support.launcher_case import Cloud, Site, label, pool, provider
from tests.support.simcloud_process import SimCloud, default_cloud

OLD, NEW = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
CREATE, FLOATING = "POST /servers", "POST /floatingips"
PUBLIC = {"name": "public", "external": True}
SIXTH = {"name": "sixth", "external": True, "ipv4": False, "cidr6": "2001:db8:6::/64"}
APART = {"name": "apart", "router": False}
DRY = {"name": "dry", "external": True, "ipv4": False}
AMBIGUOUS = "ambiguous"
CLOUDS: dict[str, dict[str, Any]] = {
    AMBIGUOUS: {"security_groups": ["web", "web"], "networks": [{"name": "private"}, {"name": "second"}, PUBLIC]},
    "renewed": {"images": [{"id": OLD, "name": "deb", "status": "deactivated"}, {"id": NEW, "name": "deb"}]},
    "useless": {
        "images": [
            {"id": OLD, "name": "old", "status": "deactivated"},
            {"id": NEW, "name": "common", "visibility": "community"},
        ]
    },
    "sources": {"networks": [{"name": "private"}, {"name": "second"}, SIXTH, PUBLIC, DRY]},
    "ports": {"networks": [APART, {"name": "private"}, PUBLIC]},
    "nowhere": {"networks": [APART, PUBLIC]},
}


@pytest.fixture(scope="module")
def sim() -> Iterator[SimCloud]:
    documents: dict[str, Any] = {}
    for name, overrides in CLOUDS.items():
        documents |= default_cloud(name, boot=0.15, delete=0.0, **overrides)
    with SimCloud(documents) as running:
        yield running


def play(site: Site, playbook: str, *words: str, **variables: Any) -> tuple[int, str]:
    """Run a playbook of the collection; (its exit status, what it said)."""
    kept = {"launcher_state_dir": str(site.folder / "state"), "launcher_duration": 40, **variables}
    arguments = ("-e", site.variables(**kept), *words)
    ran = command("ansible-playbook", ROOT / "playbooks" / playbook, *arguments, folder=site.folder)
    return ran.returncode, " ".join(f"{ran.stdout} {ran.stderr}".replace("\\n", " ").split())


def failure(site: Site, request: str) -> str:
    """Why a request has failed."""
    assert site.requestor.state(request) == "failed"
    return str(site.requestor.read(f"/nodepool/stackci/waits/{request}")["text"])


def test_what_is_ambiguous_is_told_by_all_and_costs_no_create(site: Site, sim: SimCloud):
    site.use_cloud(Cloud(sim, AMBIGUOUS))
    site.configure(
        provider(
            "one",
            pool("groups", label("small"), security_groups=["web"]),
            pool("networks", label("medium"), networks=[]),
            pool("good", label("large"), networks=["second"]),
        )
    )
    words = ("2 security groups are named 'web' (", "does not choose between the 2 that the project may use (private (")
    status, said = play(site, "config_validate.yml")
    assert status != 0 and all(text in said for text in words), said
    status, said = play(site, "launcher.yml", "--check")
    assert all(text in said for text in words), said
    requests = [site.requestor.ask(name) for name in ("small", "medium", "large")]
    status, said = play(site, "launcher.yml")
    assert status == 0, said
    assert all(text in failure(site, request) for text, request in zip(words, requests, strict=False))
    assert site.requestor.state(requests[2]) == "fulfilled"
    assert len(site.cloud.calls(CREATE)) == 1


def test_of_two_images_of_a_name_the_active_one_is_meant(site: Site, sim: SimCloud):
    site.use_cloud(Cloud(sim, "renewed"))
    images = [{"name": "deb"}]
    site.configure(provider("one", pool("main", label("small", cloud_image="deb")), cloud_images=images))
    status, said = play(site, "config_validate.yml")
    assert status == 0, said
    request = site.requestor.ask("small")
    status, said = play(site, "launcher.yml")
    assert status == 0 and site.requestor.state(request) == "fulfilled", said
    assert [call["status"] for call in site.cloud.calls(CREATE)] == [202]


def test_an_image_that_cannot_be_used_is_named_with_its_status_and_the_remedy(site: Site, sim: SimCloud):
    site.use_cloud(Cloud(sim, "useless"))
    labels = [
        label("small", cloud_image="old"),
        label("medium", cloud_image="common"),
        label("large", cloud_image="id"),
    ]
    images = [{"name": "old"}, {"name": "common"}, {"name": "id", "image-id": NEW}]
    site.configure(provider("one", pool("main", *labels), cloud_images=images))
    words = (
        f"image 'old' is deactivated ({OLD}): reactivate it",
        f"image 'common' is a community image ({NEW}), and glance does not list those by name: use image-id",
    )
    status, said = play(site, "config_validate.yml")
    assert status != 0 and all(text in said for text in words), said
    requests = [site.requestor.ask(name) for name in ("small", "medium", "large")]
    play(site, "launcher.yml")
    assert all(text in failure(site, request) for text, request in zip(words, requests, strict=False))
    assert site.requestor.state(requests[2]) == "fulfilled"
    assert len(site.cloud.calls(CREATE)) == 1


@pytest.mark.parametrize(
    ("cloud", "networks", "refusal"), [("sources", ["private"], 400), ("ports", ["apart", "private"], 404)]
)
def test_the_second_choice_of_a_floating_ip_is_tried_with_the_same_server(site: Site, sim, cloud, networks, refusal):
    site.use_cloud(Cloud(sim, cloud), private=False)
    site.configure(provider("one", pool("main", label("small"), auto_floating_ip=True, networks=networks)))
    site.cloud.clear_calls()
    requests = [site.requestor.ask("small")]
    status, said = play(site, "launcher.yml")
    assert status == 0 and site.requestor.state(requests[0]) == "fulfilled", said
    assert len(site.cloud.calls(CREATE)) == 1
    assert [call["status"] for call in site.cloud.calls(FLOATING)] == [refusal, 201]


def test_where_no_floating_ip_can_be_had_one_server_is_enough_to_say_so(site: Site, sim: SimCloud):
    site.use_cloud(Cloud(sim, "nowhere"), private=False)
    site.configure(provider("one", pool("main", label("small"), auto_floating_ip=True, networks=["apart"])))
    request = site.requestor.ask("small")
    play(site, "launcher.yml")
    told = failure(site, request)
    assert "nat_source" in told and "nat_destination" in told
    assert len(site.cloud.calls(CREATE)) == 1
    assert site.cloud.servers() == []


@pytest.mark.parametrize(
    ("name", "told"),
    [("pubilc", "no network named 'pubilc'"), ("second", "is not external"), ("dry", "has no subnet")],
)
def test_a_wrong_nat_source_is_told_before_a_server_is_created(site: Site, sim: SimCloud, name: str, told: str):
    site.use_cloud(Cloud(sim, "sources"), private=False, networks=[{"name": name, "nat_source": True}])
    site.configure(provider("one", pool("main", label("small"), auto_floating_ip=True)))
    site.cloud.clear_calls()
    status, said = play(site, "config_validate.yml")
    assert status != 0 and told in said and "nat_source" in said, said
    request = site.requestor.ask("small")
    play(site, "launcher.yml")
    assert told in failure(site, request) and "nat_source" in failure(site, request)
    assert site.cloud.calls(CREATE) == []


def test_a_correction_in_clouds_yaml_ends_what_its_mistake_has_caused(site: Site, sim: SimCloud):
    """The port to which nat_destination leads is in a network without a router."""
    cloud = Cloud(sim, "ports")
    site.use_cloud(cloud, private=False, networks=[{"name": "apart", "nat_destination": True}])
    networks = ["apart", "private"]
    site.configure(provider("one", pool("main", label("small"), auto_floating_ip=True, networks=networks)))
    request = site.requestor.ask("small")
    play(site, "launcher.yml")
    assert "nat_destination" in failure(site, request)
    assert site.requestor.read("/nodepool/stackci/breakers/one")
    site.use_cloud(cloud, private=False, networks=[{"name": "private", "nat_destination": True}])
    request = site.requestor.ask("small")
    status, said = play(site, "launcher.yml")
    assert status == 0 and site.requestor.state(request) == "fulfilled", said
