# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody uses GitLab or Jenkins and has docs/ci.md: its commands set an empty machine up, then a job is run."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.roads.conftest import Pool
from tests.support.ansible_run import ROOT
from tests.support.examples import blocks, lines_of
from tests.support.tarball import made_once

GROOVY = shutil.which("groovy")
SETTING_UP = list(blocks(ROOT / "docs" / "ci.md", "shell"))
JOB = next(blocks(ROOT / "docs" / "ci" / "gitlab.md", "yaml"))
STEP = next(blocks(ROOT / "docs" / "ci" / "jenkins.md", "groovy"))
HARNESS = """
// Stands for Jenkins: the steps that the library and the page's pipeline call.
def shell = new GroovyShell(new Binding([env: [BUILD_TAG: 'jenkins-main-7']]))
def run = { script ->
    def process = new ProcessBuilder('bash', '-ec', script).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    String out = process.inputStream.text
    if (process.waitFor() != 0) { throw new RuntimeException('script returned ' + process.exitValue()) }
    return out
}
def library = shell.parse(new File(args[0]))
library.metaClass.sh = { Map given -> run(given.script) }
library.metaClass.readJSON = { Map given -> new groovy.json.JsonSlurper().parseText(given.text) }
def pipeline = shell.parse(new File(args[1]))
pipeline.metaClass.withNodepool = { Map given, Closure body -> library.call(given, body) }
pipeline.metaClass.sh = { String script -> print run(script) }
pipeline.metaClass.echo = { text -> println 'ADDRESS ' + text }
pipeline.run()
"""


class Machine:
    """An agent's machine that was set up by the page. Its folders are below *root*, which all tests share."""

    def __init__(self, ci: Pool, root: Path) -> None:
        self.ci = ci
        self.root = root
        self.library = self.root / "usr" / "local" / "lib" / "nodepool"
        # The command of the checkout, which other tests use, must not help.
        (ci.folder / "bin" / "nodepoolctl").unlink()
        self.environment = {"PATH": f"{self.root}/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": ""}
        self.environment |= {"ANSIBLE_COLLECTIONS_PATH": str(self.root / "none")}

    def placed(self, text: str) -> str:
        """The text with this machine's folders in the place of the page's."""
        for folder in ("/opt/nodepool", "/usr/local/", "/etc/systemd/system", "/etc/buildkite-agent"):
            text = text.replace(folder, f"{self.root}{folder}")
        for program in ("galaxy", "playbook"):
            text = text.replace(f"/bin/ansible-{program}", f"/bin/python -m ansible {program}")
        return text

    def stand_in(self, name: str, script: str) -> None:
        """A program in the place of one that this machine does not have."""
        program = self.root / "usr" / "local" / "bin" / name
        program.write_text(f"#!/bin/bash\n{script}\n", "utf-8")
        program.chmod(0o755)

    def set_up(self, tarball: Path) -> str:
        """Run the page's commands. Libraries are lent by this environment in the place of a package index."""
        (self.root / "opt").mkdir(parents=True)
        (self.root / "usr" / "local" / "bin").mkdir(parents=True)
        (self.ci.folder / tarball.name).symlink_to(tarball)
        theirs = next(path for path in sys.path if path.endswith("site-packages"))
        script = self.placed("\n".join(SETTING_UP))
        assert script.count("/bin/pip install") == 2
        place = f"{self.root}/opt/nodepool/bin/"
        site = f"$({place}python -c 'import site; print(site.getsitepackages()[0])')"
        script = script.replace(f"{place}pip install ansible-core", f"echo {theirs} >{site}/lent.pth")
        script = script.replace(f"{place}pip install -r ", "test -e ")
        code, out = self.ci.run("bash", "-euc", script, env=self.environment)
        assert code == 0, out
        return out

    def run(self, *words: str | Path, **environment: str) -> tuple[int, str]:
        """Run a program of this machine."""
        return self.ci.run(*words, env={**self.environment, **environment})


@pytest.fixture
def machine(ci: Pool, shared: Path, tarball: Path) -> Machine:
    made = Machine(ci, shared / "machine")
    with made_once(made.root) as missing:
        if missing:
            assert "| Name " in made.set_up(tarball)
    return made


@pytest.mark.long
def test_a_job_of_gitlab_by_the_pages(machine: Machine, ci: Pool) -> None:
    job: dict[str, Any] = next(iter(yaml.safe_load(JOB).values()))
    text = (machine.library / "gitlab" / "config.toml").read_text("utf-8")
    (runner,) = tomllib.loads(machine.placed(text))["runners"]
    custom, given = runner["custom"], {"BUILD_FAILURE_EXIT_CODE": "41", "SYSTEM_FAILURE_EXIT_CODE": "42"}
    given |= {"CUSTOM_ENV_CI_JOB_ID": "7", "CUSTOM_ENV_CI_JOB_IMAGE": job["image"], "CUSTOM_ENV_CI_JOB_TIMEOUT": "900"}
    code, out = machine.run(custom["config_exec"], **given)
    assert code == 0, out
    given |= json.loads(out)["job_env"]
    code, out = machine.run(custom["prepare_exec"], **given)
    assert code == 0 and [name.startswith("gitlab-7-") for name in ci.leases()] == [True], out
    script = ci.folder / "step_script"
    # The job's own commands need its sources: make is told where they are.
    script.write_text("\n".join(["cd $(mktemp -d)", "printf 'test:\\n\\t@echo tested' >Makefile", *job["script"]]))
    code, out = machine.run(custom["run_exec"], script, "step_script", **given)
    assert (code, out.strip().splitlines()[-1:]) == (0, ["tested"]), out
    assert machine.run(custom["cleanup_exec"], **given)[0] == 0
    assert ci.leases() == [] and ci.empty()


SYSTEMCTL = """
# Stands for systemd: it knows the units that are there.
[ "$1" = daemon-reload ] && exit 0
for word in "${@:2}"; do
  case $word in
    --now | gitlab-runner) ;;
    *) cat "%s/etc/systemd/system/${word%%@*}@.service" >/dev/null || exit 1 ;;
  esac
done
"""


@pytest.mark.long
def test_the_commands_of_the_other_pages(machine: Machine, ci: Pool) -> None:
    """Each page is typed on one machine, in its own shell."""
    for folder in ("etc/systemd/system", "etc/buildkite-agent/hooks"):
        (machine.root / folder).mkdir(parents=True)
    machine.stand_in("systemctl", SYSTEMCTL % machine.root)
    machine.stand_in("tmt", 'echo "tmt $*"')
    plays = {"ANSIBLE_LOCALHOST_WARNING": "false", "NODEPOOL_SSH_KEY": str(ci.key)}
    said = {}
    for page in ("gitlab", "runners", "buildkite", "tmt", "playbook"):
        script = machine.placed("\n".join(blocks(ROOT / "docs" / "ci" / f"{page}.md", "shell")))
        if page == "playbook":
            script = script.strip() + f" -e nodepool_config={ci.site.config}"
        code, said[page] = machine.run("bash", "-euc", script, **plays)
        assert code == 0, f"{page}: {said[page]}"
    assert said["tmt"].count("tmt run --all") == 2 and "plan --name smoke" in said["tmt"]
    assert "Run the tests on each node" in said["playbook"] and ci.leases() == []
    unit = (machine.root / "etc/systemd/system/nodepool-runner@.service").read_text("utf-8")
    page = (ROOT / "docs" / "ci" / "runners.md").read_text("utf-8")
    for path in re.findall(r"(?:EnvironmentFile=|LoadCredential=\w+:)(\S+)", unit):
        assert f"`{path}`" in page, "the page says what to put there"
    (program,) = re.findall(r"ExecStart=(\S+)", machine.placed(unit))
    assert os.access(program, os.X_OK)
    hooks = machine.root / "etc/buildkite-agent/hooks"
    assert {path.name for path in hooks.iterdir()} == {"command", "environment", "pre-exit"}


@pytest.mark.long
@pytest.mark.skipif(GROOVY is None, reason="needs groovy (Debian package groovy, the version that Jenkins has)")
def test_a_step_of_jenkins_by_the_pages(machine: Machine, ci: Pool) -> None:
    for name, text in (("harness", HARNESS), ("page", STEP)):
        (ci.folder / f"{name}.groovy").write_text(text, "utf-8")
    library = machine.library / "jenkins" / "vars" / "withNodepool.groovy"
    code, out = machine.run(str(GROOVY), ci.folder / "harness.groovy", library, ci.folder / "page.groovy")
    assert code == 0 and "Linux" in out and "ADDRESS 127." in out, out
    assert ci.leases() == []


def test_every_line_of_the_table_leads_to_a_page() -> None:
    """The four users have one line each, and its page has something to type."""
    rows = [line for line in (ROOT / "docs" / "README.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 4
    for page in ("README.md", "docs/ci.md", "docs/command.md", "docs/migration.md"):
        assert lines_of(page), page
        assert Path(page).name in "".join(rows)
