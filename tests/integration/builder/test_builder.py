# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""builder.yml as an operator runs it: real ansible-playbook, diskimage-builder and ZooKeeper, two simulated clouds."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

import pytest

from tests.support.builder_case import image, real_image
from tests.support.builder_playbooks import BuilderHost
from tests.support.fixtures_zookeeper import eventually

pytestmark = pytest.mark.timeout(600)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="diskimage-builder needs root")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.long
@needs_root
def test_each_image_is_uploaded_as_soon_as_it_is_built(host: BuilderHost) -> None:
    host.configure(real_image("tiny"), image("zebra"))
    ran = host.play("builder.yml")
    assert ran.returncode == 0
    said = [line for line in ran.stdout.splitlines() if line.startswith("[")]
    first = next(number for number, line in enumerate(said) if "tiny: build" in line and "ready after" in line)
    second = next(number for number, line in enumerate(said) if "zebra: building" in line)
    uploaded = [number for number, line in enumerate(said) if "image tiny" in line and "uploaded" in line]
    assert len(uploaded) == 2 and all(first < number < second for number in uploaded), ran.stdout
    assert "2 images built, 4 uploaded, 0 uploads and 0 builds deleted" in ran.stdout
    for name in ("tiny", "zebra"):
        (build_id,) = host.builds(name)
        for taker, ending in {"one": "qcow2", "two": "raw"}.items():
            ((record,),) = host.uploads(name, taker).values()
            made = host.in_cloud(taker)[record["external_id"]]
            assert (made["disk_format"], made["status"]) == (ending, "active")
            assert made["sha256"] == sha256(host.images_dir / f"{name}-{build_id}.{ending}")
    before = host.everything("/nodepool/images")
    again = host.play("stackci.nodepool.builder")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "changed=0 " in again.stdout
    assert "0 images built, 0 uploaded" in again.stdout
    assert "tiny: the newest ready build is" in again.stdout
    assert host.everything("/nodepool/images") == before


@pytest.mark.long
@needs_root
def test_an_image_from_the_builder_is_launched_and_vhd_is_made_where_it_is_asked_for(host: BuilderHost) -> None:
    host.cloud("three", "vhd")
    host.configure(real_image("tiny"), takers=("one", "three"))
    ran = host.play("builder.yml", builder_qemu_img_vhd=True)
    assert ran.returncode == 0
    ((record,),) = host.uploads("tiny", "three").values()
    assert host.in_cloud("three")[record["external_id"]]["disk_format"] == "vhd"
    request = host.site.requestor.ask("small", provider="three")
    launched = host.play("launcher.yml", launcher_until="settled", launcher_duration=60)
    assert launched.returncode == 0, launched.stdout
    (node,) = host.site.requestor.nodes_of(request)
    assert host.site.clouds["three"].server(node)["image"] == record["external_id"]


def test_check_mode_shows_what_and_why_and_changes_nothing(host: BuilderHost) -> None:
    host.configure(image("new"), image("idle", pause=True))
    before = host.everything()
    ran = host.play("builder.yml", "--check", "--diff")
    assert ran.returncode == 0
    assert "+image new: build qcow2, raw, there is no ready build" in ran.stdout
    assert "1 image would be built" in ran.stdout
    assert "idle: paused in the configuration" in ran.stdout
    assert host.everything() == before
    # It only looks whether the cloud can be reached.
    assert {call["kind"] for call in host.site.clouds["one"].calls()} == {"POST /auth/tokens", "GET /images"}
    # What is ready, and what is to be deleted.
    assert host.play("builder.yml").returncode == 0
    (build_id,) = host.builds("new")
    host.site.requestor.client.delete(f"/nodepool/images/new/builds/{build_id}/providers/one", recursive=True)
    before = host.everything()
    ran = host.play("builder.yml", "--check", "--diff")
    assert f"+provider one: image new: upload build {build_id} as qcow2, " in ran.stdout
    assert "0 images would be built" in ran.stdout
    assert "of what is ready 1 image would be uploaded" in ran.stdout
    assert host.everything() == before


def test_deletions_come_first(host: BuilderHost) -> None:
    host.configure(image("old"))
    assert host.play("builder.yml").returncode == 0
    host.configure(image("new"))
    ran = host.play("builder.yml")
    assert ran.returncode == 0
    said = [line for line in ran.stdout.splitlines() if line.startswith("[")]
    gone = max(number for number, line in enumerate(said) if "old" in line)
    assert gone < min(number for number, line in enumerate(said) if "new: building" in line), ran.stdout
    assert host.builds("old") == {}
    assert [name for name in host.files() if name.startswith("old-")] == []
    assert "1 image built, 2 uploaded, 2 uploads and 1 build deleted" in ran.stdout


@pytest.mark.long
@needs_root
def test_a_failing_image_and_a_dead_provider_do_not_stop_the_others(host: BuilderHost) -> None:
    host.configure(real_image("bad", "failing"), image("good"))
    host.site.clouds["two"].fault("PUT /images/{id}/file", "status", status=503)
    ran = host.play("builder.yml", builder_api_timeout=2)
    assert ran.returncode == 2
    (build_id,) = host.builds("good")
    ((record,),) = host.uploads("good", "one").values()
    assert record["state"] == "ready"
    assert host.builds("bad") == {} and [name for name in host.files() if name.startswith("bad")] == []
    (last,) = [line for line in ran.stdout.splitlines() if line.startswith("fatal") and "provider two" in line]
    assert "bad: " in last and "this element fails on purpose" in last
    assert "provider two: image good: failed" in last
    # The module's line when it happens, and the end; the end is in Ansible's own two forms.
    assert ran.stdout.count("this element fails on purpose") + ran.stderr.count("this element fails on purpose") <= 4
    assert "rescued=0" in ran.stdout and '"builds": [' not in ran.stdout
    assert "provider one" not in last
    assert "Traceback" not in ran.stdout
    assert host.in_cloud("two") == {}
    host.site.clouds["two"].clear_faults()
    eventually(lambda: host.play("uploads.yml").returncode == 0 and len(host.in_cloud("two")) == 1, 60)
    assert list(host.builds("good")) == [build_id]


def test_paths_are_meant_from_where_the_command_was_given(host: BuilderHost) -> None:
    host.configure(image("tiny"))
    paths = {"nodepool_config": host.site.config.name, "nodepool_clouds_config": host.site.clouds_yaml.name}
    for name in ("builds.yml", "uploads.yml", "builder.yml"):
        assert host.play(name, **paths).returncode == 0
    assert host.play("image_rebuild.yml", image_names="tiny", image_rebuild_request=True, **paths).returncode == 0
    assert len(host.in_cloud("one")) == len(host.in_cloud("two")) == 1


def test_a_provider_that_never_answers(host: BuilderHost) -> None:
    host.configure(image("good"))
    host.site.clouds["two"].fault("*", "hang")
    ran = host.play("builder.yml", builder_api_timeout=2)
    assert ran.returncode == 2
    assert len(host.in_cloud("one")) == 1
    (last,) = [line for line in ran.stdout.splitlines() if line.startswith("fatal")]
    assert "provider two" in last and "provider one" not in last


@pytest.mark.long
def test_ctrl_c_ends_the_build_and_the_next_run_goes_on(host: BuilderHost) -> None:
    go = host.site.folder / "go"
    host.configure(image("slow", env_vars={"FAKE_SECONDS": "500", "FAKE_GO": str(go)}), image("zebra"))
    process = host.start("builder.yml")
    try:
        eventually(lambda: [one["state"] for one in host.builds("slow").values()] == ["building"], 60)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(40) == 99
        # The module notices that its playbook is gone, and ends what it has started.
        eventually(lambda: [one["state"] for one in host.builds("slow").values()] == ["failed"], 90)
    finally:
        process.kill()
        process.wait(10)
    assert host.builds("zebra") == {} and host.files() == []
    go.touch()
    ran = host.play("builder.yml", builder_images=["slow", "zebra"], builder_force=True)
    assert ran.returncode == 0
    assert len(host.in_cloud("one")) == len(host.in_cloud("two")) == 2


def test_remains_of_a_killed_build_are_cleared_although_nothing_is_due(host: BuilderHost) -> None:
    host.configure(image("tiny"))
    assert host.play("builder.yml").returncode == 0
    left = host.images_dir / ".stackci-tmp" / ("0" * 32)
    left.mkdir(parents=True)
    ran = host.play("builder.yml")
    assert ran.returncode == 0
    assert not left.exists()
    assert len(host.builds("tiny")) == 1
