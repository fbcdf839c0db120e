# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as its users see it."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.modules import dib_build
from tests.support.ansible_run import BIN, environment, play_of, run_module
from tests.support.builder_case import CLEAN, Module, image, run_directly
from tests.support.documented import differences
from tests.support.fixtures_zookeeper import eventually

CYCLE = ("for a cycle", "when building", "when building with records")


def options(site, **more):
    """As a playbook gives them."""
    return {
        "config": str(site.config),
        "clouds_config": str(site.clouds_yaml),
        "state_dir": str(site.folder / "state"),
        **more,
    }


def documented(result, *also, check=False):
    """What does not agree with the documentation."""
    shown = {name: value for name, value in result.items() if name not in ("failed", "invocation", "warnings")}
    return differences(dib_build.RETURN, shown, check=check, also=also)


def everything(site):
    """All of ZooKeeper and of the disk, to see that nothing was written."""
    found = {}
    paths = ["/"]
    while paths:
        path = paths.pop()
        data, stat = site.zk.get(path)
        found[path] = (data, stat.version, stat.cversion)
        paths += [f"{path.rstrip('/')}/{name}" for name in site.zk.get_children(path)]
    disk = [os.path.join(root, name) for root, _folders, names in os.walk(site.images_dir) for name in names]
    return found, sorted(disk)


def test_a_cycle_by_ansible_shows_what_it_does(site):
    site.configure(image(env_vars={"FAKE_SECONDS": "1"}))
    ran = run_module("dib_build", options(site), site.folder)
    assert ran.result["failed"] is False, ran.screen
    (build_id,) = site.records()
    assert f"[dib_build] fake: building {build_id} (raw): there is no ready build" in ran.screen
    assert f"[dib_build] fake: build {build_id} ready after" in ran.screen
    assert documented(ran.result, *CYCLE) == []


def test_check_mode_tells_and_writes_nothing(site):
    fail = site.folder / "fail"
    fail.touch()
    site.configure(image("a"), image("b", env_vars={"FAKE_FAIL": str(fail)}), image("c", formats=[]))
    site.run()
    site.put_off("b")
    site.request("a")
    site.zk.ensure_path("/nodepool/images/x/builds")
    before = everything(site)
    ran = run_directly(site, check=True, diff=True)
    assert everything(site) == before
    assert documented(ran.result, "in check mode, for a cycle", "for a cycle", check=True) == []
    assert ran.result["changed"] is True
    plan = ran.result["plan"]
    assert [(case["image"], case["code"]) for case in plan["build"]] == [("a", "requested")]
    assert [(case["image"], case["code"]) for case in plan["wait"]] == [("b", "backoff"), ("c", "no-format")]
    lines = ran.result["diff"]["after"].splitlines()
    assert lines[0] == "image a: build raw, a build was requested"
    assert lines[1].startswith("image b: leave, failed once, next attempt in")
    forced = run_directly(site, check=True, image_names=["b"], force=True).result
    assert [case["code"] for case in forced["plan"]["build"]] == ["forced"]
    assert everything(site) == before


def test_check_mode_before_anything_is_there(site):
    site.configure(image())
    before = everything(site)
    assert run_directly(site, check=True).result["changed"] is True
    assert everything(site) == before
    assert not site.images_dir.exists()


def test_check_mode_tells_of_what_was_killed(site):
    site.configure(image(env_vars={"FAKE_SECONDS": "100"}))
    with Module(site) as module:
        build_id = site.running()
        eventually(site.processes)
        module.process.kill()
        module.process.wait(10)

    def plan():
        return run_directly(site, check=True, diff=True).result["plan"]

    eventually(lambda: plan()["abandoned"] == [build_id], 30)
    assert plan()["remains"] == [build_id]
    assert site.states() == ["building"]
    site.configure(image())
    site.run()


def test_an_image_that_was_named_and_fails_fails_the_task(site):
    site.configure(image(env_vars={"FAKE_FAIL": str(site.config)}), image("good"))
    named = run_directly(site, name=["fake", "good"]).result
    assert named["failed"] is True
    assert named["msg"].startswith("fake: fake_dib.sh ended with exit code 7")
    assert [report["state"] for report in named["builds"]] == ["failed", "ready"]
    site.request()
    everyone = run_directly(site).result
    assert everyone["failed"] is False
    assert any("exit code 7" in str(warning) for warning in everyone["warnings"])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"duration": -1}, "duration is -1"),
        ({"image_names": []}, "image_names is empty"),
        ({"image_names": ["nobody"]}, "'nobody' is not a diskimage"),
        ({"force": True}, "force: no image is named"),
        ({"request": True}, "request: no image is named"),
        ({"pause": True}, "pause: no image is named"),
        ({"state": "absent"}, "build_id"),
        ({"build_id": "x"}, "build_id is for state=absent"),
        ({"record": False}, "output_dir"),
        ({"output_dir": "/x"}, "output_dir is for record=false"),
        ({"formats": ["raw"]}, "formats is for record=false"),
        ({"image_names": ["fake"], "request": True, "force": True}, "request and force cannot be combined"),
        ({"image_names": ["fake"], "pause": True, "force": True}, "pause cannot be combined with force"),
        (
            {"image_names": ["fake"], "record": False, "output_dir": "/x", "formats": ["a;b"]},
            "'a;b' is not a disk image format",
        ),
        ({"image_names": ["fake"], "record": False, "output_dir": "/proc/x"}, "output_dir /proc/x: cannot be created"),
        ({"image_names": ["paused"], "request": True}, "image paused is paused in"),
    ],
)
def test_called_wrongly(site, given, problem):
    site.configure(image(), image("paused", pause=True))
    result = run_directly(site, **given).result
    assert result["failed"] is True
    assert problem in result["msg"]
    assert "Traceback" not in str(result)
    assert not site.images_dir.exists()


def test_zookeeper_that_is_not_there(site):
    site.configure(image(), zookeeper_servers=[{"host": "127.0.0.1", "port": 1}])
    result = run_directly(site).result
    assert result["failed"] is True and "127.0.0.1:1" in result["msg"]


def test_a_provider_whose_format_cannot_be_told_is_warned_of(site):
    site.configure(image(formats=[]), providers={"one": "raw"})
    site.clouds_yaml.write_text("clouds: {}\n")
    result = run_directly(site).result
    assert result["failed"] is False
    assert [case["code"] for case in result["not_built"]] == ["format-unknown"]
    assert any("provider one is skipped" in str(warning) for warning in result["warnings"])


@pytest.mark.parametrize("what", ["playbook interrupted", "playbook killed"])
def test_a_build_ends_with_its_playbook(site, what):
    site.configure(image(env_vars={"FAKE_SECONDS": "100"}))
    playbook = site.folder / "play.yml"
    playbook.write_text(play_of("dib_build", options(site)), encoding="utf-8")
    process = subprocess.Popen(
        [str(BIN / "ansible-playbook"), str(playbook)],
        cwd=site.folder,
        env=environment(site.folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        site.running()
        eventually(site.processes)
        if what == "playbook killed":
            os.kill(process.pid, signal.SIGKILL)
        else:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(30)
        eventually(lambda: site.states() == ["failed"], 30)
        eventually(lambda: site.leftovers() == CLEAN, 30)
    finally:
        process.kill()


# -- flags and deletions ----------------------------------------------------------------------------------------------


def test_a_request_is_made_once(site):
    site.configure(image())
    asked = run_directly(site, diff=True, name="fake", request=True).result
    assert documented(asked, "with O(request) or O(pause)") == []
    assert (asked["changed"], asked["images"], asked["diff"]["after"]) == (
        True,
        ["fake"],
        "image fake: request a build\n",
    )
    assert site.requested() and site.records() == {}
    assert run_directly(site, name="fake", request=True).result["changed"] is False
    assert [report["reason"] for report in site.run()["builds"]] == ["a build was requested"]


def test_pause_and_unpause(site):
    site.configure(image())
    flag = site.path("fake", "pause")
    planned = run_directly(site, check=True, diff=True, name="fake", pause=True).result
    assert planned["changed"] is True
    assert planned["diff"]["before"] == "image fake: its builds are not paused\n"
    assert planned["diff"]["after"] == "image fake: its builds are paused\n"
    assert not site.zk.exists(flag)
    for pause in (True, False):
        assert run_directly(site, name="fake", pause=pause).result["changed"] is True
        assert bool(site.zk.exists(flag)) is pause
        assert run_directly(site, name="fake", pause=pause).result["changed"] is False


def test_clearing_away_builds_nothing_although_something_is_due(site):
    site.configure(image())
    left = site.images_dir / ".stackci-tmp" / ("0" * 32)
    left.mkdir(parents=True)
    check = run_directly(site, check=True, diff=True, state="cleared").result
    assert documented(check, "with O(state=cleared)") == []
    assert check["changed"] is True and left.exists()
    assert "remove what it left" in check["diff"]["after"]
    result = run_directly(site, state="cleared").result
    assert documented(result, "with O(state=cleared)") == []
    assert result["changed"] is True and not left.exists()
    assert ("0" * 32) in result["cleared"][0]
    assert site.records() == {} and site.files() == []
    assert run_directly(site, state="cleared").result["changed"] is False


def test_a_build_without_uploads_is_deleted_at_once(site):
    site.configure(image())
    site.run()
    (build_id,) = site.records()
    before = everything(site)
    check = run_directly(site, check=True, state="absent", build_id=build_id).result
    assert check["changed"] is True and everything(site) == before
    result = run_directly(site, state="absent", build_id=build_id).result
    assert documented(result, "with O(state=absent)") == []
    assert (result["changed"], result["state"], result["image"]) == (True, "absent", "fake")
    assert site.records() == {} and site.files() == []
    again = run_directly(site, state="absent", build_id=build_id).result
    assert (again["changed"], again["image"]) == (False, None)


def test_a_build_with_uploads_waits_for_them(site):
    site.configure(image(), providers={"one": "raw"})
    site.run()
    (build_id,) = site.records()
    uploads = site.path("fake", "builds", build_id, "providers", "one", "images")
    site.zk.create(f"{uploads}/0000000001", b'{"state": "ready", "state_time": 1.0}', makepath=True)
    result = run_directly(site, state="absent", build_id=build_id, diff=True).result
    assert (result["changed"], result["state"]) == (True, "deleting")
    assert "1 to be deleted by the upload cycle" in result["diff"]["after"]
    assert site.states() == ["deleting"] and site.files() != []


def test_a_build_under_way_is_not_deleted(site):
    go = site.folder / "go"
    site.configure(image(env_vars={"FAKE_SECONDS": "100", "FAKE_GO": str(go)}))
    with Module(site) as module:
        build_id = site.running()
        result = run_directly(site, state="absent", build_id=build_id).result
        assert result["failed"] is True and "is in progress" in result["msg"]
        go.touch()
        assert module.result()["builds"][0]["state"] == "ready"


# -- without records --------------------------------------------------------------------------------------------------


def test_a_build_without_a_record_needs_no_zookeeper(site):
    site.configure(image(formats=["qcow2"]), zookeeper_servers=[{"host": "127.0.0.1", "port": 1}])
    output = site.folder / "output"
    apart: dict[str, Any] = {"name": "fake", "record": False, "output_dir": str(output)}
    check = run_directly(site, check=True, diff=True, **apart).result
    assert check["diff"]["after"] == "image fake: build qcow2, requested\n" and not output.exists()
    result = run_directly(site, **apart, formats=["raw"]).result
    assert documented(result, "when building") == []
    (report,) = result["builds"]
    base = f"fake-{report['build_id']}"
    assert report["state"] == "ready" and result["ended"] == "done"
    assert sorted(os.listdir(output)) == [
        ".stackci-tmp",
        *(f"{base}.{ending}" for ending in ("d", "log", "raw", "raw.md5", "raw.sha256")),
    ]
    assert os.listdir(output / ".stackci-tmp") == []
    assert not site.images_dir.exists()


def test_a_build_without_a_record_does_not_go_among_the_others(site):
    site.configure(image())
    result = run_directly(site, name="fake", record=False, output_dir=f"{site.images_dir}/").result
    assert result["failed"] is True and "is images-dir" in result["msg"]


def test_a_build_without_a_record_that_fails_or_is_stopped(site):
    fail = {"FAKE_FAIL": str(site.config)}
    site.configure(image(env_vars=fail), image("slow", env_vars={"FAKE_SECONDS": "100"}))
    output = site.folder / "output"
    result = run_directly(site, name="fake", record=False, output_dir=str(output)).result
    assert result["failed"] is True and "exit code 7" in result["msg"]
    with Module(site, name="slow", record=False, output_dir=str(output)) as module:
        eventually(lambda: any("slow: building" in line for line in module.lines()))
        module.control.write_text("stop")
        stopped = module.result()
    assert stopped["ended"] == "stopped" and stopped["builds"][0]["state"] == "stopped"
    assert [name for name in os.listdir(output) if name.endswith((".raw", ".raw-new"))] == []
