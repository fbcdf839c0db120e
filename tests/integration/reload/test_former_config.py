# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mistake in nodepool.yaml does not stop the cycles that begin after it."""

from __future__ import annotations

import json

from tests.support.ansible_run import ROOT, command, run_alone
from tests.support.fixtures_zookeeper import eventually


def play(site, name, *words, **variables):
    chosen = {"launcher_state_dir": str(site.folder / "state"), "launcher_duration": 60, **variables}
    kept = {name: value for name, value in chosen.items() if value is not None}
    done = command(
        "ansible-playbook", ROOT / "playbooks" / name, "-e", site.variables(**kept), *words, folder=site.folder
    )
    return done.returncode, f"{done.stdout}\n{done.stderr}"


def test_a_successor_serves_with_the_last_valid_configuration_and_says_so(site):
    site.configure()
    first = site.requestor.ask("small")
    assert play(site, "launcher.yml")[0] == 0
    assert site.requestor.state(first) == "fulfilled"

    good = site.config.read_text(encoding="utf-8")
    site.config.write_text(good + "\n  : [\n", encoding="utf-8")
    second = site.requestor.ask("small")
    status, said = play(site, "launcher.yml")
    assert status == 0, said
    assert site.requestor.state(second) == "fulfilled"
    assert "nodepool.yaml" in said and "cannot be used" in said and "stays in use" in said

    # Whoever checks the file is told that it is wrong.
    status, said = play(site, "launcher.yml", "--check")
    assert status != 0
    status, said = play(site, "config_validate.yml", offline=True)
    assert status != 0, said

    # Corrected: the file is used, and nothing is told any more.
    document = json.loads(good)
    document["labels"].append({"name": "unused"})
    site.config.write_text(json.dumps(document), encoding="utf-8")
    third = site.requestor.ask("small")
    status, said = play(site, "launcher.yml")
    assert status == 0, said
    assert site.requestor.state(third) == "fulfilled"
    assert "stays in use" not in said


def test_builders_requestors_and_acts_by_hand_use_the_last_valid_configuration_too(site):
    site.configure(images_dir=str(site.folder / "images"))
    # Not in a folder of the test: what is no cycle looks where cycles keep it by default.
    assert play(site, "launcher.yml", launcher_state_dir=None)[0] == 0
    good = site.config.read_text(encoding="utf-8")
    site.config.write_text(good + "\n  : [\n", encoding="utf-8")

    for name, done, more in (
        ("builder.yml", "0 images built, 0 uploaded", {}),
        ("release.yml", "", {"lease_name": "web"}),
        ("leak_cleanup.yml", "", {}),
    ):
        status, said = play(site, name, **more)
        # The builder fails after its work, because something is wrong with the file.
        assert (status == 0) is (name != "builder.yml"), said
        assert done in said, said
        assert "cannot be used" in said and "stays in use" in said, said
        status, said = play(site, name, "--check", **more)
        assert status != 0, said

    # No cycle runs any more that would tell it through ZooKeeper.
    chosen = {"config": str(site.config), "require_launcher": False, "width": 300}
    shown = run_alone("nodepool_status", chosen, site.folder)
    assert any(line.startswith("  ! configuration: ") and "cannot be used" in line for line in shown.result["lines"])


def test_running_cycles_tell_everybody_through_zookeeper(site):
    def told():
        folder = "/nodepool/stackci/heartbeats"
        found = [site.requestor.read(f"{folder}/{name}") or {} for name in site.requestor.children(folder)]
        return [problem for document in found for problem in document.get("config_problems", [])]

    site.configure()
    good = site.config.read_text(encoding="utf-8")
    with site.stay():
        eventually(lambda: site.requestor.children("/nodepool/stackci/heartbeats"))
        site.config.write_text("labels: [", encoding="utf-8")
        eventually(lambda: any("nodepool.yaml" in problem for problem in told()))
        site.config.write_text(good, encoding="utf-8")
        eventually(lambda: not told())


def test_a_successor_logs_in_with_the_last_usable_entry_of_a_cloud_and_says_so(site):
    site.configure()
    first = site.requestor.ask("small")
    assert play(site, "launcher.yml")[0] == 0
    assert site.requestor.state(first) == "fulfilled"

    good = site.clouds_yaml.read_text(encoding="utf-8")
    for broken, told in ((good + "\n  : [\n", "is not valid YAML"), ('{"clouds": {"other": {}}}', "has no entry")):
        site.clouds_yaml.write_text(broken, encoding="utf-8")
        request = site.requestor.ask("small")
        status, said = play(site, "launcher.yml")
        assert status == 0, said
        assert site.requestor.state(request) == "fulfilled"
        assert told in said and "stays in use" in said
        # Whoever checks the file is told that it is wrong.
        status, said = play(site, "launcher.yml", "--check")
        assert status != 0 and told in said

    site.clouds_yaml.write_text(good, encoding="utf-8")
    last = site.requestor.ask("small")
    status, said = play(site, "launcher.yml")
    assert status == 0, said
    assert site.requestor.state(last) == "fulfilled"
    assert "stays in use" not in said


def test_a_cycle_that_runs_keeps_a_former_entry_when_clouds_yaml_is_written_and_still_wrong(site):
    site.configure()
    state = {"state_dir": str(site.folder / "state")}
    with site.stay(**state) as cycle:
        site.requestor.wait_for(site.requestor.ask("small"))
    cycle.end()
    site.clouds_yaml.write_text("clouds: [\n", encoding="utf-8")
    with site.stay(**state) as cycle:
        site.requestor.wait_for(site.requestor.ask("small"))
        site.clouds_yaml.write_text("clouds: {\n", encoding="utf-8")
        eventually(lambda: any("logging in again" in line for line in cycle.lines))
        site.requestor.wait_for(site.requestor.ask("small"))
    result = cycle.end()
    assert any("stays in use" in problem for problem in result["config_problems"])
