# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 of the builder while a gate is under way: the next cycle goes on, and nothing untested is ever used."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.integration.gate.conftest import GatedSite
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE
from tests.support.image_process import UploadProcess, run_module

SECONDS = 90.0
KILLS = 6
SLOW = "- hosts: all\n  gather_facts: false\n  tasks:\n    - raw: touch FOLDER/began; sleep 3\n"
Moment = Callable[[GatedSite], object]


def when_began(gated: GatedSite) -> object:
    record = gated.builder.store.gates.read("one", IMAGE)
    return (
        record is not None and len(gated.builder.uploads()) == 2 and record.build == gated.builder.uploads()[1].build_id
    )


def when_requested(gated: GatedSite) -> object:
    return when_began(gated) and gated.record().request


def when_launching(gated: GatedSite) -> object:
    return [node for node in gated.site.requestor.nodes().values() if node["state"] == "building"]


def when_testing(gated: GatedSite) -> object:
    return (gated.folder / "began").exists()


def canaries_end(gated: GatedSite) -> bool:
    """True when the deletion of each canary was asked for: the launcher sees its end in a list of a later sweep."""
    nodes = gated.site.requestor.nodes().values()
    return all(node["state"] == "deleting" for node in nodes if "canary" in str(node["type"]))


@pytest.mark.long
@pytest.mark.parametrize("moment", [when_began, when_requested, when_launching, when_testing])
def test_the_next_cycle_goes_on_with_the_same_image(gated: GatedSite, moment: Moment) -> None:
    gated.configure()
    good = gated.build()
    site = gated.site
    with site.stay(duration=400.0):
        run_module(gated.builder, duration=SECONDS)
        (gated.folder / "smoke.yml").write_text(SLOW.replace("FOLDER", str(gated.folder)), encoding="utf-8")
        new = gated.build()
        with UploadProcess(gated.builder, until="deadline", duration=SECONDS) as process:
            eventually(lambda: moment(gated), SECONDS)
            process.kill()
        image = gated.builder.uploads()[1].external_id
        # Whoever asks meanwhile gets the good build.
        request = site.requestor.ask("small")
        (node,) = site.requestor.wait_for(request)["nodes"]
        assert good.id in str(site.requestor.node(node)["image_id"])
        result = run_module(gated.builder, duration=SECONDS)
        assert [row["build_id"] for row in result["uploads"]["done"] + result["uploads"]["adopted"]] == [new.id]
        site.requestor.cancel(request)
        eventually(lambda: canaries_end(gated), SECONDS)
    assert gated.ready() == [good.id, new.id]
    assert [upload.external_id for upload in gated.builder.uploads()][1] == image, "it was not uploaded once more"
    assert len(gated.builder.in_cloud()) == 2
    assert site.requestor.children("/nodepool/requests") == []
    assert gated.verdict(new).state == "approved"


def test_a_stopped_cycle_leaves_the_upload_for_the_next_one(gated: GatedSite) -> None:
    gated.configure()
    build = gated.build()
    with UploadProcess(gated.builder, until="deadline", duration=SECONDS) as process:
        eventually(lambda: gated.builder.store.gates.read("one", IMAGE), SECONDS)
        process.terminate()
        result = process.result(40)
    assert result["ended"] == "stopped" and result["uploads"]["failed"] == result["uploads"]["stopped"] == []
    assert gated.builder.states() == ["uploading"] and len(gated.builder.in_cloud()) == 1
    with gated.site.stay(duration=SECONDS):
        run_module(gated.builder, duration=SECONDS)
    assert gated.ready() == [build.id] and len(gated.builder.in_cloud()) == 1


def test_a_cycle_ends_in_time_although_no_launcher_runs_and_a_launcher_at_another_time_serves_it(
    gated: GatedSite,
) -> None:
    gated.configure()
    build = gated.build()
    assert run_module(gated.builder, duration=4)["ended"] == "deadline"
    assert gated.builder.states() == ["uploading"]
    gated.site.run(duration=30.0)
    run_module(gated.builder, duration=SECONDS)
    assert gated.ready() == [build.id] and gated.tested() == [f"canary {build.id}"]


def test_without_a_gate_nothing_is_asked_or_stored_beyond_the_upload(gated: GatedSite) -> None:
    gated.configure()
    gated.settings(None)
    gated.build()
    gated.builder.run()
    cloud = gated.site.cloud
    kinds = sorted(call["kind"] for call in cloud.calls() if "/images" in call["kind"])
    assert gated.ready() and gated.site.requestor.children("/nodepool/requests") == []
    assert not {"image-gates", "image-verdicts"} & set(gated.site.requestor.children("/nodepool/stackci"))
    assert not [call for call in cloud.calls() if call["kind"].startswith("POST /servers")]
    assert kinds.count("POST /images") == 1 and len(kinds) <= 5, kinds


def test_a_gate_costs_few_calls_of_the_builder(gated: GatedSite) -> None:
    """What the builder calls is what it calls without a gate; the launcher makes one server more, in three calls."""
    gated.configure()
    gated.build()
    with gated.site.stay(duration=SECONDS):
        result = gated.builder.run(duration=SECONDS)
        eventually(lambda: gated.site.cloud.servers() == [] and canaries_end(gated), SECONDS)
    with_gate = sum(count for statuses in result["api_calls"]["one"].values() for count in statuses.values())
    gated.settings(None)
    gated.build()
    result = gated.builder.run(duration=SECONDS)
    without = sum(count for statuses in result["api_calls"]["one"].values() for count in statuses.values())
    assert with_gate <= without + 3
    # Lists of servers are for all launches of the provider; these are the canary's own.
    own = [call["kind"] for call in gated.site.cloud.calls() if call["kind"].endswith((" /servers", " /servers/{id}"))]
    assert own.count("POST /servers") == 1 and len(own) <= 3, own


@pytest.mark.long
def test_no_node_is_made_from_a_bad_build_wherever_the_builder_is_killed(gated: GatedSite) -> None:
    """Builders are killed at any moment, every second build is bad, and somebody asks for nodes all the time."""
    gated.configure(tries=2)
    site, chance = gated.site, random.Random(7)
    first = gated.build()
    good, used = {first.id}, set()
    with site.stay(duration=600.0):
        run_module(gated.builder, duration=SECONDS)
        for number in range(KILLS):
            build = gated.build()
            if number % 2:
                gated.break_build(build)
            else:
                good.add(build.id)
            with UploadProcess(gated.builder, until="deadline", duration=SECONDS) as process:
                eventually(partial(gated.under_test, build.id), SECONDS)
                time.sleep(chance.uniform(0.0, 8.0))
                process.kill()
            before = set(gated.tested())
            request = site.requestor.ask("small")
            (node,) = site.requestor.wait_for(request, seconds=SECONDS)["nodes"]
            made_from = str(site.requestor.node(node)["image_id"]).split("/")[5]
            used.add(made_from)
            assert made_from in good and f"canary {made_from}" in before
            site.requestor.give_back(*site.requestor.accept(request))
        run_module(gated.builder, duration=SECONDS)
    assert set(gated.ready()) <= good and used <= good
    assert {upload.external_id for upload in gated.builder.uploads() if upload.state == "ready"} <= set(
        gated.builder.in_cloud()
    )
