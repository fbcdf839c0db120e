# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong around a playbook on a real machine, and the log of it that people are shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.gate.conftest import SMOKE, GatedSite
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE
from tests.support.web_service import running

SECONDS = 45.0


def linked(gated: GatedSite) -> str:
    """The text of the log that the page links."""
    with running(gated.site.config) as service:

        def link() -> list[str]:
            return re.findall(r'href="\.([^"]*gate-logs[^"]*)"', str(service.get("/images").text))

        (path,) = eventually(link, SECONDS)
        return str(service.get(path).text)


@pytest.mark.long
def test_the_logs_of_runs_that_could_not_test_are_linked_and_kept(gated: GatedSite) -> None:
    """The playbook ends before a task: a role is not there."""
    gated.configure()
    gated.commands("true", before="  roles: [first]\n")
    build = gated.build()
    with gated.site.stay(duration=2 * SECONDS), gated.builder.stay(duration=2 * SECONDS) as cycle:
        eventually(lambda: cycle.told("inconclusive, nothing is rejected, again in 5 min"), SECONDS)
        # The builder tells it before it stores it.
        (first,) = eventually(lambda: gated.record().void, SECONDS)
        assert "first" in Path(first.log).read_text("utf-8") and "first" in linked(gated)
        gated.commands("true", before="  roles: [second]\n")
        gated.skip_the_pause()
        eventually(lambda: cycle.told("inconclusive, nothing is rejected, again in 10 min"), SECONDS)
        assert "first" in Path(first.log).read_text("utf-8"), "it was not overwritten"
        assert "second" in linked(gated)
        assert gated.record().results == () and gated.verdict(build).state == ""
        gated.commands("true")
        gated.skip_the_pause()
        eventually(lambda: gated.ready() == [build.id], SECONDS)
    record = gated.record()
    assert record.state == "passed" and len({*(one.log for one in record.void), record.results[0].log}) == 3


@pytest.mark.long
def test_a_failure_that_passes_the_second_time_is_shown_as_flaky_with_its_log_and_the_difference(
    gated: GatedSite,
) -> None:
    gated.configure()
    good = gated.build()
    with gated.site.stay(duration=2 * SECONDS):
        gated.builder.run(duration=SECONDS)
        text = SMOKE.replace("FOLDER", str(gated.folder))
        once = "raw: test {{ nodepool_gate.kind }} = control -o -e FOLDER/seen || (touch FOLDER/seen; echo once; false)"
        task = f"    - name: works at the second time\n      ansible.builtin.{once}\n  vars:\n"
        (gated.folder / "smoke.yml").write_text(text.replace("  vars:\n", task.replace("FOLDER", str(gated.folder))))
        new = gated.build()
        gated.builder.run(duration=2 * SECONDS)
    assert gated.ready() == [good.id, new.id]
    record = gated.record()
    assert record.state == "flaky" and "after 1 failure (flaky)" in gated.verdict(new).reason
    assert f"compared with build {good.id}: the same kernel and packages" in gated.verdict(new).reason
    assert "works at the second time" in linked(gated)
    with running(gated.site.config) as service:
        said = f'stackci_nodepool_image_gate{{image="{IMAGE}",provider="one",state="flaky"}} 1.0'
        eventually(lambda: said in str(service.get("/metrics").text), SECONDS)
