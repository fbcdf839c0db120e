# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step of the shared library, run by Groovy; and the launch command of an agent."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import pytest

from tests.integration.ci.conftest import EXAMPLES, Pool
from tests.support.fixtures_zookeeper import eventually

JENKINS = EXAMPLES / "jenkins"
GROOVY = shutil.which("groovy")
HARNESS = """
// Stands for Jenkins: the steps that the shared library calls.
def shell = new GroovyShell(new Binding([env: [BUILD_TAG: 'jenkins-web app/feature%2Fx-7']]))
def step = shell.parse(new File(args[0]))
step.metaClass.sh = { Map given ->
    def builder = new ProcessBuilder('bash', '-xec', given.script)
    def process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start()
    String out = process.inputStream.text
    if (process.waitFor() != 0) { throw new RuntimeException('script returned exit code ' + process.exitValue()) }
    return given.returnStdout ? out : null
}
step.metaClass.readJSON = { Map given -> new groovy.json.JsonSlurper().parseText(given.text) }
def twice = { outer ->
    step.call([labels: ['debian-12'], expires: 600]) { lease ->
        println 'OTHERS ' + (lease.name != outer.name && lease.nodes[0].id != outer.nodes[0].id)
    }
    step.sh(script: "nodepoolctl ssh ${outer.name} true")
}
step.metaClass.error = { String message -> throw new RuntimeException(message) }
def labels = args[1] == 'text' ? "${'debian'}-12" : args[1] == 'none' ? null : ['debian-12']
step.call([labels: labels, expires: 600]) { lease ->
    println 'NODES ' + lease.nodes.size() + ' ' + lease.name
    if (args[1] == 'fails') { throw new RuntimeException('the tests failed') }
    if (args[1] == 'twice') { twice(lease) }
    step.sh(script: "nodepoolctl ssh ${lease.name} true")
    println 'WORKED'
}
"""


@pytest.mark.skipif(GROOVY is None, reason="needs groovy (Debian package groovy, the version that Jenkins has)")
@pytest.mark.parametrize("how", ["works", "fails", "twice", "text"])
def test_the_step_gives_the_nodes_back_whatever_happens(how, ci: Pool) -> None:
    harness = ci.folder / "harness.groovy"
    harness.write_text(HARNESS)
    code, out = ci.run(str(GROOVY), harness, JENKINS / "vars" / "withNodepool.groovy", how)
    assert "NODES 1 jenkins-jenkins-web-app-feature-2Fx-7-" in out, out
    works = how != "fails"
    assert (code == 0, "WORKED" in out, "the tests failed" in out) == (works, works, not works)
    assert ("OTHERS true" in out) == (how == "twice"), "two calls of one build share no node"
    assert ci.leases() == []


@pytest.mark.skipif(GROOVY is None, reason="needs groovy (Debian package groovy, the version that Jenkins has)")
def test_a_step_without_labels_says_so_and_asks_for_nothing(ci: Pool) -> None:
    harness = ci.folder / "harness.groovy"
    harness.write_text(HARNESS)
    code, out = ci.run(str(GROOVY), harness, JENKINS / "vars" / "withNodepool.groovy", "none")
    assert code != 0 and "withNodepool needs labels, such as labels: ['debian-12']" in out, out
    assert "nodepoolctl" not in out and ci.empty()


@pytest.mark.skipif(GROOVY is None, reason="needs groovy (Debian package groovy, the version that Jenkins has)")
def test_the_groovy_files_are_groovy(tmp_path) -> None:
    """The phases of Groovy's compiler up to the semantic analysis; a Jenkinsfile knows names that only Jenkins has."""
    checker = tmp_path / "check.groovy"
    checker.write_text(
        "args.each { name -> def unit = new org.codehaus.groovy.control.CompilationUnit()\n"
        "  unit.addSource(new File(name))\n"
        "  unit.compile(org.codehaus.groovy.control.Phases.CONVERSION) }\n"
    )
    files = [JENKINS / "Jenkinsfile", JENKINS / "vars" / "withNodepool.groovy"]
    done = subprocess.run(
        [str(GROOVY), str(checker), *map(str, files)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def agent(ci: Pool, **options):
    """The launch command, with a program that returns all that it gets as the agent."""
    jar = ci.folder / "agent.jar"
    jar.write_bytes(b"jar")
    surroundings = {"JENKINS_AGENT_JAR": str(jar), "JENKINS_AGENT_COMMAND": "cat agent.jar; exec cat"}
    return ci.popen(JENKINS / "nodepool-agent", "große web/1", "debian-12", env=surroundings, **options)


def test_an_agent_without_its_program_or_label_leases_nothing(ci: Pool) -> None:
    code, out = ci.run(JENKINS / "nodepool-agent", "web", "debian-12", env={"JENKINS_AGENT_JAR": "/nowhere/agent.jar"})
    assert code == 2 and "/nowhere/agent.jar cannot be read: set JENKINS_AGENT_JAR" in out, out
    code, out = ci.run(JENKINS / "nodepool-agent", "web")
    assert (code, out) == (2, "usage: nodepool-agent NODE_NAME LABEL\n")
    assert ci.site.cloud.calls("POST /servers") == []


def test_an_agent_talks_over_ssh_and_its_node_goes_back(ci: Pool) -> None:
    with agent(ci, stdin=subprocess.PIPE) as process:
        out, _none = process.communicate("hello from Jenkins", timeout=120)
    assert process.returncode == 0 and "\njarhello from Jenkins" in out, out
    assert ci.leases() == []


def test_jenkins_ends_an_agent_that_waits_for_its_node(ci: Pool) -> None:
    """The signal reaches the program alone, not what it has started."""
    ci.site.cloud.outsiders(20)
    with agent(ci, stdin=subprocess.PIPE) as process:
        eventually(lambda: ci.site.requestor.children("/nodepool/requests"), 60.0)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 143
    assert ci.leases() == [] and ci.site.requestor.children("/nodepool/requests") == []


def test_jenkins_ends_an_agent(ci: Pool) -> None:
    with agent(ci, stdin=subprocess.PIPE) as process:
        eventually(lambda: ci.site.requestor.children("/nodepool/nodes"), 60.0)
        ci.until_leased()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(120) != 0
    assert ci.leases() == []
