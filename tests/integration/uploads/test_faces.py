# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as users call it: check mode, diff, progress, results, and what it says when it is called wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.modules import image_upload
from tests.support.ansible_run import run_module as run_play
from tests.support.documented import differences
from tests.support.image_case import IMAGE, MEGABYTE, Builder, taker
from tests.support.image_process import arguments, run_module

EXTRA = {"invocation", "failed", "diff", "warnings"}


def returned(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in EXTRA}


def test_check_mode_shows_what_would_be_done_and_touches_nothing(builder: Builder) -> None:
    builder.cloud("two")
    builder.configure(taker("one"), taker("two", diskimages=[{"name": IMAGE, "pause": True}]))
    (builder.images_dir / "builder_id.txt").write_text(builder.builder_id)
    old = builder.build()
    builder.run()
    middle = builder.build()
    builder.run()
    new = builder.build()
    for name in ("one", "two"):
        builder.site.clouds[name].clear_calls()
    tree = builder.site.requestor.tree("/nodepool")
    files = sorted(path.name for path in builder.images_dir.iterdir())
    result = run_module(builder, check=True, diff=True)
    assert builder.site.requestor.tree("/nodepool") == tree
    assert sorted(path.name for path in builder.images_dir.iterdir()) == files
    for name in ("one", "two"):
        # It is asked whether it is there, nothing else.
        kinds = {call["kind"] for call in builder.site.clouds[name].calls()}
        assert kinds <= {"POST /auth/tokens", "GET /images"} and "GET /images" in kinds
    assert result["providers"] == {"one": {"reached": True}, "two": {"reached": True}}
    assert result["changed"] is True
    plan = result["plan"]
    assert [(row["provider"], row["build_id"], row["code"]) for row in plan["upload"]] == [("one", new.id, "missing")]
    assert [(row["provider"], row["code"]) for row in plan["wait"]] == [("two", "paused")]
    assert plan["delete"] == []
    lines = result["diff"]["after"].splitlines()
    assert f"provider one: image {IMAGE}: upload build {new.id} as raw, build {new.id} is not uploaded" in lines
    builder.run(provider="one")
    result = run_module(builder, check=True, diff=True)
    assert result["plan"]["upload"] == []
    assert [(row["what"], row["build_id"]) for row in result["plan"]["delete"]] == [("build", old.id)]
    assert f"image {IMAGE}: delete build {old.id}, " in result["diff"]["after"]
    assert {build.id for build in builder.store.images.builds(IMAGE)} == {old.id, middle.id, new.id}
    assert "diff" not in run_module(builder, check=True)


def test_check_mode_fails_for_providers_that_cannot_be_used_and_tells_the_plan_all_the_same(builder: Builder) -> None:
    builder.site.add_cloud("two", auth={**builder.site.bank.take().entry["auth"], "password": "another"})
    builder.configure(taker("one"), taker("two"))
    made = builder.build()
    result = run_module(builder, check=True)
    assert result["failed"] is True
    assert result["unusable"] == [result["msg"]] and "does not accept the login of entry 'two'" in result["msg"]
    assert result["providers"]["one"] == {"reached": True}
    assert ("one", made.id) in [(row["provider"], row["build_id"]) for row in result["plan"]["upload"]]
    assert not result.get("warnings")
    assert run_module(builder, check=True, strict_check=False)["failed"] is False


def test_results_are_as_documented(builder: Builder) -> None:
    builder.configure(taker("one"), taker("two"))
    builder.site.clouds["two"].fault("PUT /images/{id}/file", "status", status=500)
    builder.site.clouds["two"].fault("DELETE /images/{id}", "status", status=500)
    made = [builder.build() for _number in range(1)]
    shown = run_module(builder, check=True)
    assert differences(image_upload.RETURN, returned(shown), check=True) == []
    result = run_module(builder)
    assert result["uploads"]["done"] and result["uploads"]["failed"] and result["undeleted"] and result["waiting"]
    assert differences(image_upload.RETURN, returned(result), check=False) == []
    upload = builder.uploads("one")[0]
    names: dict[str, Any] = {
        "image": IMAGE,
        "provider": "one",
        "build_id": made[0].id,
        "upload_id": upload.id,
        "state": "absent",
    }
    shown = run_module(builder, check=True, diff=True, **names)
    assert shown["diff"]["before"] == f"{upload.path} (ready)\n"
    assert differences(image_upload.RETURN, returned(shown), check=True) == []
    gone = run_module(builder, **names)
    assert [row["upload_id"] for row in gone["uploads"]["deleted"]] == [upload.id]
    assert differences(image_upload.RETURN, returned(gone), check=False) == []
    assert run_module(builder, **names)["changed"] is False


def test_a_play_shows_how_far_it_is_without_flooding(builder: Builder) -> None:
    builder.cloud().fault("PUT /images/{id}/file", "throttle", rate=8 * MEGABYTE)
    builder.configure()
    builder.build(size=48 * MEGABYTE)
    ran = run_play("image_upload", arguments(builder), builder.site.folder)
    assert ran.result["uploads"]["done"], ran.screen
    told = [line for line in ran.screen.splitlines() if line.startswith("[image_upload]")]
    assert any("% of 48.0 MiB" in line for line in told)
    assert any("uploaded, 48.0 MiB in" in line for line in told)
    assert len(told) <= 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"image": "nobody"}, "image: 'nobody' is not a diskimage in"),
        ({"provider": "nobody"}, "provider: 'nobody' is not a provider in"),
        ({"image": IMAGE, "build_id": "0" * 32}, f"build_id: image {IMAGE} has no build"),
        ({"build_id": "0" * 32}, "missing parameter(s) required by 'build_id': image"),
        ({"state": "absent"}, "state is absent but all of the following are missing"),
        ({"duration": -1}, "duration is -1"),
        ({"uploads_per_provider": 0}, "uploads_per_provider is 0"),
        ({"image": IMAGE, "build_id": "0" * 32, "upload_id": "1"}, "upload_id is for state=absent"),
    ],
)
def test_called_wrongly(builder: Builder, options: dict[str, Any], said: str) -> None:
    builder.configure()
    result = run_module(builder, **options)
    assert result["failed"] is True
    assert said in result["msg"]


def test_no_images_dir(builder: Builder) -> None:
    builder.configure()
    document = builder.site.config.read_text().replace('"images-dir"', '"elements-dir"')
    builder.site.config.write_text(document)
    assert "images-dir is missing" in run_module(builder)["msg"]
