# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""New uploads are tested on real machines before nodes are made from them."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import playbook_run
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.proc import arguments, processes
from tests.integration.gate.conftest import GatedSite
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE

SECONDS = 90.0


def test_a_good_build_becomes_ready_after_its_canary(gated: GatedSite) -> None:
    gated.configure()
    build = gated.build()
    with gated.site.stay(duration=SECONDS):
        result = gated.builder.run(duration=SECONDS)
    assert [row["build_id"] for row in result["uploads"]["done"]] == [build.id]
    assert gated.tested() == [f"canary {build.id}"]
    record = gated.record()
    assert (record.outcome, record.request, len(record.results)) == ("passed", "", 1)
    assert record.results[0].log and "DNS of the site" in Path(record.results[0].log).read_text("utf-8")
    assert gated.verdict(build).state == "approved"
    assert gated.ready() == [build.id]


@pytest.mark.long
def test_a_broken_build_is_rejected_and_the_good_one_stays(gated: GatedSite) -> None:
    gated.configure()
    good = gated.build()
    with gated.site.stay(duration=SECONDS):
        gated.builder.run(duration=SECONDS)
        bad = gated.build()
        gated.break_build(bad)
        result = gated.builder.run(duration=SECONDS)
        request = gated.site.requestor.ask("small")
        (node,) = gated.site.requestor.wait_for(request)["nodes"]
    assert "2 canaries failed" in result["uploads"]["failed"][0]["error"]
    assert gated.tested() == [f"canary {good.id}", f"control {good.id}"]
    record = gated.record()
    assert [(each.kind, each.passed) for each in record.results] == [
        ("canary", False),
        ("control", True),
        ("canary", False),
    ]
    assert "DNS of the site" in record.results[0].reason
    assert gated.verdict(bad).state == "rejected" and "DNS of the site" in gated.verdict(bad).reason
    # All guests are this machine.
    assert record.note.endswith(f"; compared with build {good.id}: the same kernel and packages")
    assert gated.ready() == [good.id]
    assert good.id in str(gated.site.requestor.node(node)["image_id"])


@pytest.mark.long
def test_an_outage_rejects_nothing_and_is_tested_again(gated: GatedSite) -> None:
    """The mirror is down: the playbook fails on the image in use, too."""
    gated.configure()
    good = gated.build()
    with gated.site.stay(duration=SECONDS):
        gated.builder.run(duration=SECONDS)
        outage = gated.folder / "outage"
        outage.touch()
        new = gated.build()
        with gated.builder.stay(duration=SECONDS) as cycle:
            eventually(lambda: cycle.told("inconclusive, nothing is rejected, again in 5 min"), SECONDS)
            assert gated.ready() == [good.id] and gated.verdict(new).state == ""
            assert gated.builder.states() == ["ready", "uploading"]
            assert gated.builder.store.images.is_provider_locked(IMAGE, new.id, "one")
            outage.unlink()
            gated.skip_the_pause()
            eventually(lambda: gated.ready() == [good.id, new.id], SECONDS)
    record = gated.record()
    assert [(each.kind, each.passed, each.round) for each in record.results] == [
        ("canary", False, 0),
        ("control", False, 0),
        ("canary", True, 1),
    ]
    assert gated.verdict(new).state == "approved"


@pytest.mark.long
def test_a_build_whose_machines_do_not_answer_is_rejected_with_the_launchers_reason(gated: GatedSite) -> None:
    gated.configure(launch={"boot_timeout": 3, "launch_retries": 1})
    good = gated.build()
    with gated.site.stay(duration=SECONDS):
        gated.builder.run(duration=SECONDS)
        bad = gated.build()
        # Node 0 was the canary of the good build, 2 is the control node.
        gated.site.cloud.fault("POST /servers", "unreachable", name="np000000000[13]")
        gated.builder.run(duration=SECONDS)
    assert gated.ready() == [good.id]
    assert "no node of it could be launched" in gated.verdict(bad).reason


def test_it_is_tested_at_one_provider_and_then_distributed(gated: GatedSite) -> None:
    gated.configure("one", "two", "three", providers=["two"])
    build = gated.build()
    with gated.site.stay(duration=SECONDS):
        gated.builder.run(duration=SECONDS)
    assert [gated.ready(name) for name in ("one", "two", "three")] == [[build.id]] * 3
    assert gated.tested() == [f"canary {build.id}"]
    times = {name: gated.builder.uploads(name)[0].state_time or 0.0 for name in ("one", "two", "three")}
    assert min(times, key=times.__getitem__) == "two"
    assert not [name for name in ("one", "three") if gated.builder.store.gates.read(name, IMAGE)]


@pytest.mark.long
def test_a_rejected_build_reaches_no_other_provider(gated: GatedSite) -> None:
    gated.configure("one", "two")
    good = gated.build()
    with gated.site.stay(duration=SECONDS):
        gated.builder.run(duration=SECONDS)
        bad = gated.build()
        gated.break_build(bad)
        gated.builder.run(duration=SECONDS)
        gated.builder.run(duration=SECONDS)
    assert [gated.ready(name) for name in ("one", "two")] == [[good.id]] * 2
    assert bad.id not in {upload.build_id for upload in gated.builder.uploads("two")}
    assert len(gated.builder.in_cloud("one")) == len(gated.builder.in_cloud("two")) == 1


def test_a_person_decides_while_it_waits_for_a_launcher(gated: GatedSite) -> None:
    gated.configure()
    build = gated.build()
    with gated.builder.stay(duration=SECONDS) as cycle:
        eventually(lambda: cycle.told("waits for a canary"), SECONDS)
        now = time.time()
        gated.builder.store.verdicts.change(
            IMAGE, build.id, lambda known: known.given("approved", "looked at it", "hand", now)
        )
        eventually(lambda: gated.ready() == [build.id], SECONDS)
    assert gated.record().outcome == "promoted" and gated.tested() == []
    assert gated.site.requestor.children("/nodepool/requests") == []


@pytest.mark.long
def test_a_canary_that_failed_is_held_for_a_person(gated: GatedSite) -> None:
    gated.configure(hold_failed=900)
    gated.build()
    with gated.site.stay(duration=SECONDS):
        gated.builder.run(duration=SECONDS)
        bad = gated.build()
        gated.break_build(bad)
        gated.builder.run(duration=SECONDS)
        held = [node for node in gated.site.requestor.nodes().values() if node["state"] == "hold"]
    assert [(node["hold_expiration"], node["type"]) for node in held] == [(900, [f"stackci-canary-{IMAGE}"])] * 2
    assert all("DNS of the site" in node["comment"] for node in held)


def test_a_gate_that_nobody_serves_is_promoted_at_its_deadline_if_the_site_says_so(gated: GatedSite) -> None:
    gated.configure(deadline=2, at_deadline="promote")
    build = gated.build()
    with gated.builder.stay(duration=SECONDS) as cycle:
        eventually(lambda: gated.ready() == [build.id], SECONDS)
    assert cycle.told("ready without a test: not decided within 2 s")
    assert "not decided" in gated.verdict(build).reason


def test_at_its_deadline_the_image_in_use_is_kept_and_that_is_told(gated: GatedSite) -> None:
    gated.configure(deadline=2)
    gated.build()
    with gated.builder.stay(duration=SECONDS) as cycle:
        eventually(lambda: cycle.told("nodes come from the image in use, the test goes on"), SECONDS)
    assert gated.ready() == [] and gated.builder.states() == ["uploading"]


def test_a_canary_is_behind_everybody_until_a_place_is_reserved(gated: GatedSite) -> None:
    gated.configure(reserve_after=5)
    gated.build()

    def requests() -> list[str]:
        return [str(name)[:3] for name in gated.site.requestor.children("/nodepool/requests")]

    with gated.builder.stay(duration=SECONDS):
        eventually(lambda: requests() == ["900"], SECONDS)
        eventually(lambda: requests() == ["000"], SECONDS)


def test_a_playbook_that_does_not_exist_rejects_nothing(gated: GatedSite) -> None:
    gated.configure()
    gated.build()
    with gated.site.stay(duration=SECONDS):
        gated.builder.run(duration=SECONDS)
        gated.configure(playbook="smok.yml")
        new = gated.build()
        with gated.builder.stay(duration=SECONDS) as cycle:
            eventually(lambda: cycle.told("smok.yml is not a file") and cycle.told("inconclusive"), SECONDS)
            assert gated.verdict(new).state == ""
            gated.configure()
            # A round that begins before the file is read again fails as before, and the next one is minutes away.
            eventually(lambda: cycle.told("read again"), SECONDS)
            gated.skip_the_pause()
            eventually(lambda: new.id in gated.ready(), SECONDS)


@pytest.mark.long
def test_a_playbook_that_hangs_is_ended(gated: GatedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other tests may run a gate at the same time; what is below this folder is of this one.
    own = tempfile.mkdtemp(prefix="hangs-")
    monkeypatch.setattr(playbook_run, "sys", sys)  # processes of the playbook are looked for
    monkeypatch.setattr(tempfile, "tempdir", own)
    gated.configure(timeout=3)
    playbook = gated.folder / "smoke.yml"
    playbook.write_text("- hosts: all\n  gather_facts: false\n  tasks:\n    - raw: sleep 600\n", encoding="utf-8")
    gated.build()
    with gated.site.stay(duration=SECONDS), gated.builder.stay(duration=SECONDS) as cycle:
        eventually(lambda: cycle.told("canary failed: the playbook did not end within 3 s"), SECONDS)
        eventually(lambda: cycle.told("there is no image in use to compare with"), SECONDS)
    left = [arguments(pid) for pid in processes()]
    assert not [words for words in left if any(f"{own}/stackci-gate-" in word for word in words)]


@pytest.mark.long
def test_jobs_can_pin_the_build_before_and_try_the_next_one(gated: GatedSite) -> None:
    gated.configure()
    gated.settings(gated.gate, channels=["previous", "candidate"])
    requestor = gated.site.requestor

    def made_from(label: str) -> str:
        (node,) = requestor.wait_for(requestor.ask(label), seconds=SECONDS)["nodes"]
        return str(requestor.node(node)["image_id"]).split("/")[5]

    with gated.site.stay(duration=400.0):
        builds = []
        for _unused in range(2):
            builds.append(gated.build())
            gated.builder.run(duration=SECONDS)
        assert made_from("small") == made_from("small-candidate") == builds[1].id
        assert made_from("small-previous") == builds[0].id
        gated.slow_down()
        builds.append(gated.build())
        with gated.builder.stay(duration=SECONDS):
            eventually(lambda: gated.under_test(builds[2].id), SECONDS)
            assert made_from("small-candidate") == builds[2].id
            assert made_from("small") == builds[1].id


@pytest.mark.parametrize("how", ["", None])
def test_a_settings_file_that_is_empty_or_gone_ends_no_test(gated: GatedSite, how: str | None) -> None:
    gated.configure()
    build, own = gated.build(), gated.folder / "nodepool-settings.yaml"
    options = {"state_dir": str(gated.folder / "state"), "duration": 4.0}
    gated.builder.run(**options)
    if how is None:
        own.unlink()
    else:
        own.write_text(how, encoding="utf-8")
    result = gated.builder.run(**options)
    assert gated.builder.states() == ["uploading"] and gated.verdict(build).state == ""
    assert any(f"the gate of {IMAGE} among them" in text for text in result["problems"]), result["problems"]
    own.write_text("{}\n", encoding="utf-8")
    result = gated.builder.run(**options)
    assert gated.ready() == [build.id] and result["problems"] == []
