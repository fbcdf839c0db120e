# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A person decides about builds by the playbook while a launcher and a builder work, and finds the log of a test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build
from tests.integration.gate.conftest import GatedSite
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE

SECONDS = 90.0


@contextmanager
def under_test(gated: GatedSite, *, broken: bool = False) -> Iterator[Build]:
    """A new build whose playbook runs until the end of the block."""
    closed = gated.folder / "closed"
    closed.touch()
    build = gated.build()
    if broken:
        gated.break_build(build)
    eventually((gated.folder / f"tests-{build.id}").exists, SECONDS)
    yield build
    closed.unlink()


def made_from(gated: GatedSite) -> str:
    """Have a new request served; return the build of its node."""
    requestor = gated.site.requestor
    request = requestor.ask("small")
    (node,) = requestor.wait_for(request, seconds=SECONDS)["nodes"]
    requestor.accept(request)
    return str(requestor.node(node)["image_id"]).split("/")[5]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_decisions_count_while_launcher_and_builder_work(gated: GatedSite) -> None:
    gated.configure(timeout=120)
    gated.commands(
        "touch FOLDER/tests-{{ nodepool_gate.build }}",
        "for one in $(seq 200); do test -e FOLDER/closed || break; sleep 0.2; done",
        "test ! -e FOLDER/broken-{{ nodepool_gate.build }} || { echo no DNS; false; }",
    )
    with gated.site.stay(duration=9 * SECONDS), gated.builder.stay(duration=9 * SECONDS) as cycle:
        # Before its folder has an owner, nobody else may write there.
        eventually((gated.builder.images_dir / "tree_id.txt").exists, SECONDS)

        # Held during its test, it is used only after it is restored.
        with under_test(gated) as first:
            assert f"build {first.id} of {IMAGE}: held" in gated.decided(first, "held", "a look at its kernel")
        eventually(lambda: gated.record().results, SECONDS)
        assert gated.ready() == [] and gated.record().results[0].passed
        gated.decided(first, "restored")
        eventually(lambda: gated.ready() == [first.id], SECONDS)
        assert made_from(gated) == first.id

        # Approved during its test, a broken one is used.
        with under_test(gated, broken=True) as second:
            gated.decided(second, "approved", "only the smoke test is broken")
        eventually(lambda: second.id in gated.ready(), SECONDS)
        assert gated.record().outcome == "promoted" and made_from(gated) == second.id

        # Rejected during its test, a good one is deleted in the cloud.
        with under_test(gated) as third:
            gated.decided(third, "rejected", "not this one")
        eventually(lambda: third.id not in {one.build_id for one in gated.builder.uploads("one")}, SECONDS)
        assert cycle.told("rejected: rejected by hand: not this one") and made_from(gated) == second.id

        # Revoked and restored.
        assert "nodes in use" in gated.decided(second, "revoked", "its python is broken")
        assert made_from(gated) == first.id
        gated.decided(second, "restored")
        assert made_from(gated) == second.id

        # A test that fails is explained, with its log.
        with under_test(gated, broken=True) as bad:
            (gated.folder / f"broken-{second.id}").unlink()
        eventually(lambda: gated.verdict(bad).state == "rejected", SECONDS)
        request = gated.site.requestor.ask("small")
        gated.site.requestor.wait_for(request, seconds=SECONDS)
        said = gated.why(request)
        assert f"the test of {IMAGE} build {bad.id[:8]} at one is rejected: 2 canaries failed" in said
        found = re.search(r"its log on the builder: (\S+) in build-log-dir", said)
        assert found is not None, said
        assert "no DNS" in (gated.folder / "logs" / found[1]).read_text("utf-8")
    assert sorted(gated.ready()) == sorted([first.id, second.id])
