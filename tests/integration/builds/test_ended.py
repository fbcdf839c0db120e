# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds that are ended before their time: nothing of them stays, whoever ends them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.isolation import (
    FULL,
    MOUNTS,
    NONE,
    find_isolation,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import Stop
from tests.support.builder_case import CLEAN, PLAIN, Module, image
from tests.support.fixtures_zookeeper import eventually

LEVELS = [FULL, MOUNTS, NONE]


def apart(level):
    found = find_isolation(allowed=level)
    if found.level != level:
        pytest.skip(f"this machine does not permit it: {found.why_not}")
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_a_time_out_ends_everything(site, level):
    # Neither ends by itself before the test would be stopped.
    variables = {"FAKE_SECONDS": "1000", "FAKE_DAEMON": "1000", "FAKE_STUBBORN": "1"}
    site.configure(image(build_timeout=2, env_vars=variables), image("next"))
    result = site.run(isolation=apart(level))
    first, second = result["builds"]
    assert (first["state"], second["state"]) == ("failed", "ready")
    assert "longer than its build-timeout of 2 s" in first["error"]
    assert result["isolation"]["level"] == level
    assert site.log(first["build_id"]).splitlines()[-1].startswith("Exit code: ")
    assert site.log(first["build_id"]).splitlines()[-1] != "Exit code: 0"
    assert site.leftovers() == CLEAN
    assert site.states() == ["failed"]
    assert site.files() == [name for name in site.files() if name.startswith("next-")]


@pytest.mark.parametrize("level", LEVELS)
def test_what_outlives_a_success_is_ended(site, level):
    site.configure(image(env_vars={"FAKE_DAEMON": "100"}))
    (report,) = site.run(isolation=apart(level))["builds"]
    assert report["state"] == "ready"
    assert site.leftovers() == CLEAN


def test_a_polite_child_may_clean_up_by_itself(site):
    site.configure(image(build_timeout=1, env_vars={"FAKE_SECONDS": "100", "FAKE_TIDY": "1"}))
    (report,) = site.run()["builds"]
    assert "Unmount" in site.log(report["build_id"])
    assert report["exit_code"] == -signal.SIGTERM or report["exit_code"] == 128 + signal.SIGTERM


@pytest.mark.parametrize("level", LEVELS)
def test_a_stop_ends_the_build_and_counts_as_no_failure(site, level):
    site.configure(image(env_vars={"FAKE_SECONDS": "100"}), image("next"))
    stop = Stop()
    found = apart(level)
    results = []
    thread = threading.Thread(target=lambda: results.append(site.run(isolation=found, stop=stop)))
    thread.start()
    build_id = site.running()
    eventually(site.processes)
    stop.ask("stopped")
    thread.join(30)
    (result,) = results
    assert result["ended"] == "stopped"
    assert [(report["build_id"], report["state"]) for report in result["builds"]] == [(build_id, "stopped")]
    assert site.states() == ["failed"]
    assert not site.zk.exists("/nodepool/stackci/image-builds/fake")
    assert site.leftovers() == CLEAN


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, "control file"])
def test_the_module_is_stopped(site, end):
    site.configure(image(env_vars={"FAKE_SECONDS": "100"}))
    with Module(site) as module:
        site.running()
        eventually(site.processes)
        if end == "control file":
            module.control.write_text("stop\n")
        else:
            module.process.send_signal(end)
        result = module.result(30)
    assert (result["failed"], result["ended"]) == (False, "stopped")
    assert site.states() == ["failed"]
    assert site.leftovers() == CLEAN


def test_a_killed_module_takes_its_build_with_it_and_the_next_cycle_goes_on(site):
    go, full = site.folder / "go", find_isolation().level == FULL
    site.configure(image(env_vars={"FAKE_SECONDS": "100", "FAKE_GO": str(go)}))
    with Module(site) as module:
        build_id = site.running()
        # unshare, the first process of the namespace, and what that starts. Before the third is there unshare may not
        # have asked for the signal yet; what is left by a kill at that moment is found by its mark (the next test).
        eventually(lambda: len(site.processes()) >= (3 if full else 1))
        module.process.kill()
        module.process.wait(10)
    if full:
        eventually(lambda: site.processes() == [])
    assert site.states() == ["building"]
    go.touch()
    result = site.run()
    assert result["abandoned"] == [build_id]
    assert [build_id in text for text in result["cleared"]] == [True]
    assert [report["state"] for report in result["builds"]] == ["ready"]
    assert site.states() == ["failed", "ready"]
    assert site.leftovers() == CLEAN
    assert not any(build_id in name for name in site.files())


KILLED = """
import os, sys, threading
sys.path[:0] = {path!r}
from tests.support.builder_case import PLAIN
from {cycle} import run_builds
from {options} import BuildOptions
run_builds(BuildOptions(config={config!r}, clouds_config={clouds!r}, state_dir={state!r}), isolation=PLAIN)
"""


def killed_plainly(site):
    """A cycle without any isolation, so that its child outlives it; a process."""
    options = site.options()
    text = KILLED.format(
        path=sys.path,
        cycle="ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_cycle",
        options="ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_options",
        config=options.config,
        clouds=options.clouds_config,
        state=options.state_dir,
    )
    return subprocess.Popen([sys.executable, "-c", text])


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_outlives_a_killed_cycle_is_found_by_its_mark(site, elsewhere):
    shared = site.folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)  # as /tmp is
    variables = {"FAKE_SECONDS": "100", "FAKE_DAEMON": "100", "FAKE_STUBBORN": "1"}
    if elsewhere:
        variables["TMP_DIR"] = str(shared)
    site.configure(image(env_vars=variables))
    process = killed_plainly(site)
    build_id = site.running()
    eventually(lambda: len(site.processes()) >= 2)
    if elsewhere:
        (place,) = shared.iterdir()
        assert re.fullmatch(r"\.stackci-tmp-[0-9a-f]{32}", place.name) and place.stat().st_mode & 0o777 == 0o700
        eventually(lambda: list(place.glob(f"{build_id}/dib_build.*")))
    process.kill()
    process.wait(10)
    assert site.processes() != []
    site.configure(image())
    result = site.run()
    assert result["abandoned"] == [build_id]
    assert "processes" in result["cleared"][0]
    assert site.leftovers() == CLEAN
    assert list(shared.iterdir()) == []
    assert site.states() == ["failed", "ready"]


def test_another_builder_on_the_same_machine_is_left_alone(site):
    other = site.beside("other")
    go = site.folder / "go"
    other.configure(image("theirs", env_vars={"FAKE_SECONDS": "100", "FAKE_GO": str(go)}))
    site.configure(image("ours"))
    with Module(other) as module:
        other.running()
        eventually(other.processes)
        result = site.run()
        assert (result["cleared"], result["abandoned"]) == ([], [])
        assert other.processes() != []
        go.touch()
        assert module.result()["builds"][0]["state"] == "ready"


def test_a_second_cycle_of_the_same_builder_leaves_the_first_alone(site):
    go = site.folder / "go"
    site.configure(image(env_vars={"FAKE_SECONDS": "100", "FAKE_GO": str(go)}), image("next"))
    with Module(site) as module:
        build_id = site.running()
        eventually(site.processes)
        result = site.run()
        assert [report["image"] for report in result["builds"]] == ["next"]
        assert [case["code"] for case in result["not_built"]] == ["building"]
        assert (result["cleared"], result["abandoned"]) == ([], [])
        go.touch()
        assert [report["build_id"] for report in module.result()["builds"]] == [build_id]
    assert site.states() == ["ready"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_mounts_and_loop_devices_of_a_killed_build(site):
    site.configure(image())
    site.run()
    build_id = "e" * 32
    claim = site.images_dir / ".stackci-tmp" / build_id
    point = claim / "mnt"
    point.mkdir(parents=True)
    disk = claim / "disk.raw"
    with disk.open("wb") as file:
        file.truncate(8 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(disk)], check=True, timeout=60)
    subprocess.run(["mount", "-o", "loop", str(disk), str(point)], check=True, timeout=60)
    subprocess.run(["mount", "--bind", str(site.folder), str(point)], check=True, timeout=60)
    outside = site.folder / "precious"
    outside.touch()
    assert site.leftovers()["loop devices"]
    result = site.run(isolation=PLAIN)
    assert site.leftovers() == CLEAN
    assert "mounts" in result["cleared"][0]
    assert outside.exists()
