# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a gate changes for uploads and for what is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import (
    UploadCase,
    UploadCode,
    judge_choice,
    judge_upload,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.gating import (
    barred,
    is_overtaken,
    needs_gate,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState, ImagesView
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import (
    DeleteUpload,
    MarkBuild,
    kept_builds,
    plan_deletions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import (
    APPROVED,
    REJECTED,
    BuildVerdict,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.gate_labels import with_more_labels
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.gate_settings import GateSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig, Pool, PoolLabel
from ansible_collections.stackci.nodepool.plugins.module_utils.model.gate import GateRecord
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build, UploadState
from tests.support.image_views import build, build_id, config, files, upload, view

PLACES = ("cloud1", "cloud2", "cloud3")


def gated(*providers: str) -> NodepoolConfig:
    """cloud2 and cloud3 offer a label of the diskimage; cloud1 only takes its uploads."""
    made = config({"debian": {"gate": GateSettings("smoke.yml", providers=providers)}}, {n: ["debian"] for n in PLACES})
    pools = {"main": Pool("main", labels={"small": PoolLabel("small", diskimage="debian")})}
    offering = {name: replace(made.providers[name], pools=pools) for name in PLACES[1:]}
    return with_more_labels(replace(made, providers={**made.providers, **offering}))


def seen(*builds: Build, settings: NodepoolConfig | None = None, **state: Any) -> ImagesView:
    found = ImageState("debian", builds=builds, **state)
    here = [file for number in range(1, 12) for file in files(number, "qcow2")]
    return view(settings or gated(), found, formats=dict.fromkeys(PLACES, "qcow2"), files=here)


def judged(world: ImagesView, provider: str, **options: Any) -> UploadCase:
    return judge_upload(world, provider, "debian", **options)


def approved(number: int, state: str = APPROVED) -> dict[str, BuildVerdict]:
    return {build_id(number): BuildVerdict(state, "x", "gate", 1.0, 1.0)}


def test_one_provider_tests_and_the_others_wait():
    world = seen(build(1))
    assert judged(world, "cloud2").due
    for name in ("cloud1", "cloud3"):
        case = judged(world, name)
        assert (case.code, case.reason) == (
            UploadCode.UNTESTED,
            f"build {build_id(1)} is tested at provider cloud2 first",
        )
    passed = seen(build(1), verdicts=approved(1))
    assert all(judged(passed, name).due for name in PLACES)


def test_a_build_from_before_the_gate_is_tested():
    world = seen(build(1), uploads=[upload(1, provider="cloud3")])
    assert judged(world, "cloud1").due and judged(world, "cloud2").due
    assert not needs_gate(world, upload(1, provider="cloud2", state=UploadState.UPLOADING))


def test_only_the_first_and_those_that_are_named_test():
    waiting = {name: upload(1, provider=name, state=UploadState.UPLOADING) for name in PLACES}
    world = seen(build(1))
    assert [name for name in PLACES if needs_gate(world, waiting[name])] == ["cloud2"]
    named = seen(build(1), settings=gated("cloud3", "cloud2"))
    assert [name for name in PLACES if needs_gate(named, waiting[name])] == ["cloud2", "cloud3"]
    passed = seen(build(1), settings=gated("cloud3", "cloud2"), verdicts=approved(1))
    assert [name for name in PLACES if needs_gate(passed, waiting[name])] == ["cloud2"]
    record = GateRecord(build_id(1), waiting["cloud2"].id, outcome="passed")
    both = seen(build(1), settings=gated("cloud3", "cloud2"), verdicts=approved(1), gates={"cloud2": record})
    assert not any(needs_gate(both, waiting[name]) for name in PLACES)


def test_a_gate_that_no_provider_can_run_lets_nothing_through():
    settings = gated("cloud1")
    assert judged(seen(build(1), settings=settings), "cloud1").code == UploadCode.UNTESTED


def test_a_rejected_build_is_not_uploaded_anywhere_and_the_one_before_counts_as_current():
    world = seen(build(1), build(2), uploads=[upload(1, provider="cloud2")], verdicts=approved(2, REJECTED))
    assert judged(world, "cloud2").code == UploadCode.CURRENT
    assert judged(world, "cloud1").build == build(1)
    nothing = seen(build(2), verdicts=approved(2, REJECTED))
    assert judged(nothing, "cloud2").reason == "no ready build may be used"


def test_one_untested_upload_at_a_provider_at_most():
    under_test = upload(1, provider="cloud2", state=UploadState.UPLOADING)
    locks = frozenset({(build_id(1), "cloud2")})
    world = seen(build(1), build(2), uploads=[under_test], uploading=locks)
    assert (judged(world, "cloud2").code, build_id(1) in judged(world, "cloud2").reason) == (UploadCode.UNTESTED, True)
    # Both have begun at the same time: the older one gives way.
    assert judged(world, "cloud2", holding=True).due
    newer = upload(2, provider="cloud2", state=UploadState.UPLOADING)
    both = seen(build(1), build(2), uploads=[newer], uploading=frozenset({(build_id(2), "cloud2")}))
    assert judged(both, "cloud2").code == UploadCode.UPLOADING


def test_what_is_being_tested_says_what_it_waits_for():
    under_test = upload(1, provider="cloud2", state=UploadState.UPLOADING)
    gates = {"cloud2": GateRecord(build_id(1), under_test.id, note="waits for a node: no room")}
    world = seen(build(1), uploads=[under_test], uploading=frozenset({(build_id(1), "cloud2")}), gates=gates)
    assert judged(world, "cloud2").reason == "being tested: waits for a node: no room"


def test_an_older_build_never_becomes_ready_after_a_newer_one():
    old, new = upload(1, provider="cloud2", state=UploadState.UPLOADING), upload(2, provider="cloud2")
    assert is_overtaken(seen(build(1), build(2), uploads=[old, new]), old)
    assert not is_overtaken(seen(build(1), build(2), uploads=[upload(1, provider="cloud2"), new]), new)


def test_the_good_one_outlives_bad_builds():
    days = range(2, 11)
    verdicts = {key: verdict for day in days for key, verdict in approved(day, REJECTED).items()}
    good = upload(1, provider="cloud2")
    world = seen(build(1), *map(build, days), uploads=[good], verdicts=verdicts)
    assert [each.id for each in kept_builds(world, world.image("debian"))] == [build_id(10), build_id(1)]
    planned = plan_deletions(world)
    assert not [each for each in planned if isinstance(each, DeleteUpload)]
    assert {each.build.id for each in planned if isinstance(each, MarkBuild)} == {build_id(day) for day in range(2, 10)}


def test_an_untested_build_counts_in_addition():
    uploads = [upload(1, provider="cloud2"), upload(2, provider="cloud2")]
    world = seen(build(1), build(2), build(3), uploads=uploads)
    assert [each.id for each in kept_builds(world, world.image("debian"))] == [build_id(3), build_id(2), build_id(1)]


def test_a_build_that_a_person_holds_is_kept():
    world = seen(build(1), build(2), build(3), uploads=[upload(1, provider="cloud2")], verdicts=approved(2, "held"))
    assert build(2) in kept_builds(world, world.image("debian"))


def test_what_is_not_tested_any_more_where_it_was_uploaded_does_not_become_ready():
    """Its upload began while its provider was the one that tests."""
    waiting = upload(1, provider="cloud2", state=UploadState.UPLOADING)
    now = seen(build(1), settings=gated("cloud3"))
    assert not needs_gate(now, waiting)
    assert barred(now, waiting) == f"build {build_id(1)} is tested at provider cloud3 first"
    assert not barred(seen(build(1)), waiting)
    assert not barred(seen(build(1), settings=gated("cloud3"), verdicts=approved(1)), waiting)


def test_an_untested_build_that_is_named_is_not_uploaded_past_its_test():
    chosen = judge_choice(seen(build(1)), "cloud3", "debian", build_id=build_id(1), force=True)
    assert (chosen.due, chosen.code) == (False, UploadCode.UNTESTED)
    assert judge_choice(seen(build(1)), "cloud2", "debian", build_id=build_id(1), force=True).due
