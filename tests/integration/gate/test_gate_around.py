# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong around a playbook on a real machine: nothing is rejected, and people are told."""

from __future__ import annotations

import pytest

from tests.integration.gate.conftest import GatedSite
from tests.support.ansible_run import run_alone
from tests.support.command import nodepoolctl
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE

SECONDS = 45.0


@pytest.mark.long
def test_a_playbook_that_vanishes_during_a_play_rejects_nothing(gated: GatedSite) -> None:
    gated.configure()
    good = gated.build()
    with gated.site.stay(duration=2 * SECONDS):
        gated.builder.run(duration=SECONDS)
        gated.commands("rm FOLDER/smoke.yml", "false")
        new = gated.build()
        with gated.builder.stay(duration=2 * SECONDS) as cycle:
            eventually(lambda: cycle.told("smoke.yml is not a file: correct gate in the settings"), SECONDS)
            assert gated.ready() == [good.id] and gated.verdict(new).state == ""
            gated.commands("true")
            gated.skip_the_pause()
            eventually(lambda: gated.ready() == [good.id, new.id], SECONDS)


@pytest.mark.long
def test_an_image_that_is_deleted_while_the_playbook_runs_is_uploaded_again(gated: GatedSite) -> None:
    """The canary's launch shows that it was there; the list that each cycle begins with shows that it is gone."""
    gated.configure()
    gated.commands("touch FOLDER/began; while test ! -e FOLDER/over; do sleep 0.2; done")
    build = gated.build()
    with gated.site.stay(duration=4 * SECONDS):
        with gated.builder.stay(duration=2 * SECONDS):
            eventually((gated.folder / "began").exists, SECONDS)
            (gone,) = gated.builder.in_cloud()
            options = gated.builder.options()
            assert options.client(options.load().providers["one"]).images.delete(gone)
            (gated.folder / "over").touch()
            eventually(lambda: gated.ready() == [build.id], SECONDS)
        assert gated.verdict(build).state == "approved"

        def is_new() -> bool:
            ready = [one for one in gated.builder.uploads() if one.state == "ready"]
            return [one.external_id for one in ready] == list(gated.builder.in_cloud()) != [gone]

        with gated.builder.stay(duration=2 * SECONDS):
            eventually(is_new, 2 * SECONDS)


@pytest.mark.long
def test_a_held_canary_that_takes_the_only_place_is_told_and_released(gated: GatedSite) -> None:
    """Control node and people wait for it; the screen names the command that ends that."""
    gated.configure(hold_failed=900)
    good = gated.build()
    requestor, config = gated.site.requestor, str(gated.site.config)
    with gated.site.stay(duration=3 * SECONDS):
        gated.builder.run(duration=SECONDS)
        eventually(lambda: not gated.site.cloud.servers(), SECONDS)
        gated.site.cloud.quota(instances=1)
        bad = gated.build()
        gated.break_build(bad)
        with gated.builder.stay(duration=3 * SECONDS):
            held = eventually(
                lambda: [key for key, one in requestor.nodes().items() if one["state"] == "hold"], SECONDS
            )
            request = requestor.ask("small")
            lines = run_alone("nodepool_status", {"config": config, "width": 400}, gated.folder).result["lines"]
            shown = " ".join(" ".join(lines).split())
            assert f"canary {held[0]} of {IMAGE} is held for a person and takes room: " in shown
            assert f"nodepoolctl unhold {held[0]}" in shown
            done = nodepoolctl("unhold", held[0], folder=gated.folder, config=gated.site.config)
            assert done.returncode == 0, done.stdout + done.stderr
            (node,) = requestor.wait_for(request, seconds=SECONDS)["nodes"]
    assert good.id in str(requestor.node(node)["image_id"])
