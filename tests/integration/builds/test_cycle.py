# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is built when, and what is written down about it."""

from __future__ import annotations

import os
import threading
import time

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import Stop
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from tests.support.builder_case import CLEAN, Module, image
from tests.support.fixtures_zookeeper import eventually


def build(result, name="fake"):
    (found,) = [report for report in result["builds"] if report["image"] == name]
    return found


def test_a_first_build(site):
    site.configure(image(username="me", python_path="/usr/bin/python3"), providers={"one": "qcow2", "two": "raw"})
    result = site.run()
    assert (result["ended"], result["changed"], result["not_built"]) == ("settled", True, [])
    report = build(result)
    assert (report["state"], report["exit_code"], report["error"]) == ("ready", 0, "")
    ((build_id, record),) = site.records().items()
    assert build_id == report["build_id"] and len(build_id) == 32
    builder_id = (site.images_dir / "builder_id.txt").read_text()
    wanted = {"state": "ready", "formats": "qcow2,raw", "builder_id": builder_id, "username": "me"}
    assert wanted.items() <= record.items()
    assert (record["python_path"], record["shell_type"]) == ("/usr/bin/python3", None)
    assert record["builder"]
    names = [f"{ending}{more}" for ending in ("qcow2", "raw") for more in ("", ".md5", ".sha256")]
    assert site.files() == sorted([f"fake-{build_id}.d", *(f"fake-{build_id}.{name}" for name in names)])
    assert site.log(build_id).splitlines()[-1] == "Exit code: 0"
    assert report["sizes"].keys() == {"qcow2", "raw"} == site.notes()["sizes"].keys()
    assert site.leftovers() == CLEAN
    assert not site.zk.get_children(site.path("fake", "builds", "lock"))


def test_what_was_built_is_not_due(site):
    site.configure(image())
    site.run()
    result = site.run()
    assert (result["changed"], result["builds"]) == (False, [])
    assert [case["code"] for case in result["not_built"]] == ["fresh"]


def test_age_and_formats_make_it_due(site):
    site.configure(image(rebuild_age=1000))
    site.run()
    (first,) = site.records()
    site.write("fake", first, state_time=time.time() - 1001)
    assert "rebuild-age" in build(site.run())["reason"]
    site.configure(image(formats=["raw", "qcow2"], rebuild_age=1000))
    assert "has no qcow2" in build(site.run())["reason"]
    assert site.states() == ["ready"] * 3


def test_one_that_fails_does_not_stop_the_others(site):
    fail = site.folder / "fail"
    fail.touch()
    site.configure(image("bad", env_vars={"FAKE_FAIL": str(fail)}), image("good"))
    result = site.run()
    assert [(report["image"], report["state"]) for report in result["builds"]] == [("bad", "failed"), ("good", "ready")]
    report = build(result, "bad")
    assert report["exit_code"] == 7
    assert "exit code 7: E: it cannot go on" in report["error"] and report["log"] in report["error"]
    (record,) = site.records("bad").values()
    assert record["state"] == "failed" and "formats" not in record
    assert not any(name.startswith("bad-") for name in site.files())
    assert site.log(report["build_id"], "bad").splitlines()[-1] == "Exit code: 7"
    assert site.leftovers() == CLEAN


def test_failures_back_off_and_a_success_forgets_them(site):
    fail = site.folder / "fail"
    fail.touch()
    site.configure(image(env_vars={"FAKE_FAIL": str(fail)}))
    began = time.time()
    site.run()
    notes = site.notes()
    assert notes["failures"] == 1 and 8.9 <= notes["not_before"] - notes["failed_at"] <= 11.1
    assert notes["failed_at"] >= began
    site.put_off()
    result = site.run()
    assert result["builds"] == []
    (case,) = result["not_built"]
    assert case["code"] == "backoff" and "it cannot go on" in case["reason"]
    assert build(site.run(images=("fake",), force=True))["state"] == "failed"
    assert site.notes()["failures"] == 2
    assert 17.9 <= site.notes()["not_before"] - site.notes()["failed_at"] <= 22.1
    fail.unlink()
    site.request()
    assert build(site.run())["state"] == "ready"
    assert site.notes()["failures"] == 0
    assert not site.requested()


def test_a_request_is_served_and_dropped_only_by_a_success(site):
    fail = site.folder / "fail"
    site.configure(image(env_vars={"FAKE_FAIL": str(fail)}))
    site.run()
    site.request()
    fail.touch()
    assert build(site.run())["reason"] == "a build was requested"
    site.put_off()
    assert site.requested()
    fail.unlink()
    assert build(site.run(images=("fake",), force=True))["state"] == "ready"
    assert not site.requested()
    assert site.states() == ["failed", "ready", "ready"]


def test_a_request_that_comes_while_its_image_is_built_is_served_by_another_build(site):
    started, go = site.folder / "started", site.folder / "go"
    variables = {"FAKE_SECONDS": "100", "FAKE_STARTED": str(started), "FAKE_GO": str(go)}
    site.configure(image(env_vars=variables))
    site.request()
    results = []
    thread = threading.Thread(target=lambda: results.append(site.run()))
    thread.start()
    eventually(started.exists)
    site.zk.delete(site.path("fake", "request-build"))
    site.request()
    go.touch()
    thread.join(60)
    assert [report["state"] for report in results[0]["builds"]] == ["ready", "ready"]
    assert not site.requested()


def test_a_request_made_before_any_build_is_served_by_it(site):
    site.configure(image(rebuild_age=1000))
    site.run()
    (first,) = site.records()
    site.write("fake", first, state_time=time.time() - 1001)
    site.request()
    site.run()
    assert site.states() == ["ready", "ready"] and not site.requested()


def test_relative_paths_are_those_of_the_folder_in_which_it_runs(site, monkeypatch):
    monkeypatch.chdir(site.folder)
    site.configure(image(), images_dir="images")
    report = build(site.run())
    assert report["state"] == "ready"
    assert f"{site.images_dir}/fake-" in site.log(report["build_id"])


def test_a_request_wakes_a_cycle_that_stays(site):
    site.configure(image())
    stop = Stop()
    results = []
    thread = threading.Thread(target=lambda: results.append(site.run(until="deadline", stop=stop)))
    thread.start()
    eventually(lambda: site.states() == ["ready"])
    site.request()
    eventually(lambda: site.states() == ["ready", "ready"], 15)
    stop.ask("stopped")
    thread.join(20)
    assert results[0]["ended"] == "stopped"
    assert len(results[0]["builds"]) == 2


def test_a_request_that_is_withdrawn_while_it_is_served_ends_nothing(site):
    go = site.folder / "go"
    site.configure(image(env_vars={"FAKE_SECONDS": "100", "FAKE_GO": str(go)}), image("next"))
    site.request()
    with Module(site) as module:
        site.running()
        site.zk.delete(site.path("fake", "request-build"))
        go.touch()
        result = module.result()
    assert [(one["image"], one["state"]) for one in result["builds"]] == [("fake", "ready"), ("next", "ready")]
    assert not site.requested()


def test_a_builder_reads_no_node_and_no_request(site, monkeypatch):
    site.configure(image())
    seen = []
    put = Tree.put

    def noted(tree, path, *rest):
        seen.append(path)
        return put(tree, path, *rest)

    monkeypatch.setattr(Tree, "put", noted)
    site.zk.ensure_path("/nodepool/nodes/0000000001")
    stop = Stop()
    thread = threading.Thread(target=lambda: site.run(until="deadline", stop=stop))
    thread.start()
    eventually(lambda: site.states() == ["ready"])
    for number in range(20):
        site.zk.set("/nodepool/nodes/0000000001", b'{"state": "ready", "n": %d}' % number)
    site.zk.ensure_path("/nodepool/requests/100-0000000001")
    site.request()
    eventually(lambda: site.states() == ["ready", "ready"], 15)
    stop.ask("stopped")
    thread.join(20)
    assert seen and [path for path in seen if path.startswith(("/nodepool/nodes", "/nodepool/requests"))] == []


def test_a_build_under_way_tells_its_formats(site):
    go = site.folder / "go"
    site.configure(image(formats=["raw", "qcow2"], env_vars={"FAKE_SECONDS": "100", "FAKE_GO": str(go)}))
    with Module(site) as module:
        build_id = site.running()
        assert site.records()[build_id]["formats"] == "qcow2,raw"
        go.touch()
        assert module.result()["builds"][0]["state"] == "ready"


def test_force_builds_once_what_is_not_due(site):
    site.configure(image("a"), image("b"))
    site.run()
    result = site.run(images=("b",), force=True)
    assert [report["image"] for report in result["builds"]] == ["b"]
    assert "requested; otherwise: the newest ready build is" in build(result, "b")["reason"]


@pytest.mark.parametrize("where", ["configuration", "flag"])
def test_a_pause_is_respected(site, where):
    site.configure(image(pause=where == "configuration"))
    if where == "flag":
        site.zk.ensure_path(site.path("fake", "pause"))
    result = site.run(images=("fake",), force=True)
    assert result["builds"] == []
    assert [case["code"] for case in result["not_built"]] == ["paused"]
    assert site.records() == {}


def test_logs_are_kept_for_the_image_of_exactly_that_name(site):
    site.configure(image("deb"), image("deb-arm"), build_log_retention=2)
    site.log_dir.mkdir()
    for name in ("deb", "deb-arm"):
        for number in range(4):
            path = site.log_dir / f"{name}-{number:032x}.log"
            path.touch()
            os.utime(path, (number, number))
    (site.log_dir / "deb-notes.log").touch()
    site.run(images=("deb",))
    left = sorted(os.listdir(site.log_dir))
    (new,) = site.records("deb")
    assert [name for name in left if name.startswith("deb-arm")] == [f"deb-arm-{n:032x}.log" for n in range(4)]
    assert set(left) >= {"deb-notes.log", f"deb-{2:032x}.log", f"deb-{3:032x}.log", f"deb-{new}.log"}
    assert f"deb-{1:032x}.log" not in left


def test_a_missing_format_is_a_failure(site):
    site.configure(image(formats=["raw", "qcow2"], env_vars={"FAKE_OMIT": "qcow2"}))
    report = build(site.run())
    assert report["state"] == "failed" and "created no qcow2 file" in report["error"]
    assert site.log(report["build_id"]).splitlines()[-1] == "Exit code: 1"
    assert site.files() == []


def test_an_empty_file_is_a_failure_that_is_repeated_later(site):
    site.configure(image(formats=["raw", "qcow2"], env_vars={"FAKE_EMPTY": "qcow2"}))
    report = build(site.run())
    assert report["state"] == "failed" and "its qcow2 file is empty" in report["error"]
    assert site.log(report["build_id"]).splitlines()[-1] == "Exit code: 1"
    assert site.files() == []
    notes = site.notes()
    assert notes["failures"] == 1 and notes["not_before"] > 0


def test_a_command_that_cannot_be_run(site):
    site.configure(image(dib_cmd="/nonexistent/disk-image-create"), image("bad", dib_cmd="%p/dib"))
    result = site.run()
    missing, other = build(result), build(result, "bad")
    assert (missing["state"], missing["exit_code"]) == ("failed", 127)
    assert "/nonexistent/disk-image-create cannot be run" in missing["error"]
    assert (
        other["state"] == "failed"
        and "uses %p for the directory of Nodepool's package" in other["error"]
        and other["build_id"] == ""
    )
    assert site.notes("bad")["failures"] == 1


def test_a_directory_that_cannot_be_written_fails_each_image(site):
    (site.folder / "file").touch()
    site.configure(image(), build_log_dir=str(site.folder / "file" / "logs"))
    report = build(site.run())
    assert report["state"] == "failed" and "build-log-dir" in report["error"]


def test_secrets_are_not_told(site):
    lines: list[str] = []
    secret = "tOp-s3cret"
    site.configure(image(env_vars={"FAKE_SECRET": secret, "FAKE_FAIL": str(site.config)}))
    result = site.run(say=lines.append)
    assert secret not in str(result) + str(lines) + str(site.notes())


def test_the_configuration_may_change_meanwhile(site):
    site.configure(image("a"))
    stop = Stop()
    results = []
    lines: list[str] = []
    thread = threading.Thread(target=lambda: results.append(site.run(until="deadline", stop=stop, say=lines.append)))
    thread.start()
    eventually(lambda: site.states("a") == ["ready"])
    site.configure(image("a"), image("b"))
    eventually(lambda: site.states("b") == ["ready"], 20)
    stop.ask("stopped")
    thread.join(20)
    assert results[0]["config_problems"] == []
    assert [line for line in lines if "read again:" in line] == ["configuration: read again: diskimage b is new"]


def test_a_build_begins_from_the_file_as_it_is(site):
    """While the first image is built, the second one changes and the third one goes."""
    hold = site.folder / "hold"
    hold.touch()
    site.configure(image("a", env_vars={"FAKE_HOLD": str(hold)}), image("b"), image("c"))
    results = []
    thread = threading.Thread(target=lambda: results.append(site.run()))
    thread.start()
    eventually(lambda: site.states("a") == ["building"])
    site.configure(image("a"), image("b", formats=["qcow2"]))
    hold.unlink()
    thread.join(40)
    assert {report["image"]: report["formats"] for report in results[0]["builds"]} == {"a": ["raw"], "b": ["qcow2"]}
    assert site.states("c") == []


def test_parents_elements_and_environment_reach_the_command(site):
    variables = {"FAKE_SIZE": "12288", "FAKE_OMIT": "raw"}
    site.configure(
        {"name": "base", "abstract": True, "elements": ["e1"], "env-vars": variables},
        image("child", parent="base", elements=["e2", "e3"], env_vars={"FAKE_OMIT": "nothing"}),
    )
    report = build(site.run(), "child")
    assert (report["state"], report["sizes"]) == ("ready", {"raw": 12288})
    first = site.log(report["build_id"], "child").splitlines()[0]
    assert first.endswith(" e1 e2 e3")
    assert " -x -t raw --checksum --no-tmpfs -o " in first


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"images": ("nobody",)}, "'nobody' is not a diskimage in .* it has fake"),
        ({"images": ("parent",)}, "'parent' is not a diskimage"),
        ({"force": True}, "force: no image is named"),
        ({"config": "/nonexistent.yaml"}, "/nonexistent.yaml"),
    ],
)
def test_bad_inputs(site, changes, problem):
    site.configure(image(), {"name": "parent", "abstract": True})
    with pytest.raises(ConfigError, match=problem):
        site.run(**changes)


def test_without_images_dir(site):
    site.configure(image(), images_dir=None)
    with pytest.raises(ConfigError, match="images-dir"):
        site.run()
