# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The molecule scenarios: they are complete, find what the roles install, and say why they cannot be run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tools import molecule_image, molecule_supplies, scenarios

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {"awx"}
"""Tested in tests/integration, against an endpoint that answers as AWX does."""


def tasks_of(role):
    for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")):
        yield from yaml.safe_load(path.read_text("utf-8")) or ()


def test_every_role_has_a_scenario():
    roles = {path.name for path in (ROOT / "roles").iterdir() if not path.name.startswith("_")} - ELSEWHERE
    found = {path.parent.name for path in (ROOT / "extensions" / "molecule").glob("*/molecule.yml")}
    assert found == roles


@pytest.mark.parametrize("role", ["zookeeper", "_runner_loop"])
def test_what_a_role_installs_is_brought_to_the_containers(role):
    named = set()
    for task in tasks_of(role):
        module = task.get("ansible.builtin.apt", {})
        if module.get("state") == "present":
            named |= set(re.findall(r"[a-z][a-z0-9.+-]{2,}", re.sub(r"_\w+", "", str(module["name"]))))
    assert named
    assert named <= set(molecule_supplies.wanted_packages())


def test_what_is_missing_is_named_with_a_remedy(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("podman", "ip") else f"/bin/{name}")
    assert scenarios.obstacle() == "not installed: podman, iproute2 (make molecule installs them)"


def test_without_root_nothing_is_tried(monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(molecule_image, "make", pytest.fail)
    monkeypatch.setattr(sys, "argv", ["scenarios"])
    assert scenarios.main() == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "skipped: needs root, for containers with systemd in networks of their own"


def test_a_podman_that_does_not_work_is_quoted(monkeypatch):
    def refuse(*_words, **_options):
        raise subprocess.CalledProcessError(125, "podman", stderr="Warning: this\nError: no cgroups here\n\n")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(molecule_image, "podman", refuse)
    assert scenarios.obstacle() == "podman does not work here: Error: no cgroups here"


def test_another_recipe_has_another_name(monkeypatch):
    small, java = molecule_image.name(), molecule_image.java_name()
    assert small != java
    monkeypatch.setattr(molecule_image, "PACKAGES", (*molecule_image.PACKAGES, "less"))
    assert molecule_image.name() != small
    assert molecule_image.java_name() != java


def test_the_stand_in_for_ssh_says_when_there_is_no_container(tmp_path):
    done = subprocess.run(
        [ROOT / "tools" / "in-container", "-o", "ConnectTimeout=10", "gone", "/bin/sh -c 'true'"],
        env={"SCENARIOS_WORK": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (255, "in-container: gone does not run\n")


@pytest.fixture
def able(monkeypatch, tmp_path):
    """Podman is there; image and packages are made in no time, unless a test says otherwise."""
    monkeypatch.setattr(scenarios, "obstacle", lambda: None)
    monkeypatch.setattr(scenarios, "container_obstacle", lambda: None)
    monkeypatch.setattr(scenarios, "LOGS", tmp_path / "log")
    monkeypatch.setattr(scenarios, "WORK", tmp_path / "work")
    monkeypatch.setattr(molecule_image, "make", lambda: "image")
    monkeypatch.setattr(molecule_image, "make_java", lambda _supplies: "java")
    monkeypatch.setattr(molecule_supplies, "make", lambda: tmp_path)
    monkeypatch.setattr(sys, "argv", ["scenarios"])


def test_an_image_that_cannot_be_made_is_a_reason_to_skip(able, monkeypatch, capsys):
    def fail():
        raise subprocess.CalledProcessError(1, "debootstrap", stderr="E: Couldn't download packages: adduser\n")

    monkeypatch.setattr(molecule_image, "make", fail)
    assert scenarios.main() == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("skipped: image and packages of the containers cannot be made here: E: Couldn't download")


def test_making_the_image_is_bounded(able, monkeypatch, capsys):
    monkeypatch.setattr(scenarios, "PREPARE_SECONDS", 0.05)
    monkeypatch.setattr(molecule_image, "make", lambda: subprocess.run(["sleep", "600"], check=True))
    assert scenarios.main() == 0
    assert "not done after 0.05 s" in capsys.readouterr().out


def test_containers_in_which_systemd_does_not_start_are_a_reason_to_skip(able, monkeypatch, capsys):
    monkeypatch.setattr(scenarios, "container_obstacle", lambda: "containers do not work here: degraded")
    assert scenarios.main() == 0
    assert capsys.readouterr().out == "skipped: containers do not work here: degraded\n"


def test_a_scenario_that_hangs_is_ended_and_counts_as_failed(able, monkeypatch):
    commands = {"test": ["sleep", "600"], "destroy": ["true"]}
    monkeypatch.setattr(scenarios, "molecule", lambda command, _scenario: commands[command])
    monkeypatch.setattr(scenarios, "STAGE", ROOT)
    scenarios.LOGS.mkdir()
    outcome = scenarios.Runs(dict(os.environ), time.monotonic() + 0.2).run("launcher")
    assert outcome.code != 0
    assert "ended after" in outcome.log.read_text("utf-8")
