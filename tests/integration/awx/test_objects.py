# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role's data: what awx.awx documents, what jobs find, and what AWX would see in the project."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import load_config
from tests.integration.awx.conftest import OPTIONS, PROJECT, playbooks_of
from tests.support.ansible_run import ROOT, command
from tests.support.awx.workflows import run_workflow
from tools import neighbours

Texts = dict[str, str]
Lists = dict[str, list[dict[str, Any]]]

MODULES = {
    "controller_execution_environments": "execution_environment",
    "controller_credential_types": "credential_type",
    "controller_credentials": "credential",
    "controller_projects": "project",
    "controller_inventories": "inventory",
    "controller_inventory_sources": "inventory_source",
    "controller_templates": "job_template",
    "controller_workflows": "workflow_job_template",
    "controller_schedules": "schedule",
}
"""The lists of infra.aap_configuration and the module of awx.awx that takes an entry of each."""

JOBS = ["launcher", "leak_cleanup", "builder", "image_rebuild", "lease", "release"]
LEASING = {"awx_jobs": JOBS, "awx_workflow_template": "acceptance"}
NODES = "simplified_workflow_nodes"
"""What infra.aap_configuration passes on to another module."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """All lists, made by the role without a server."""
    folder = tmp_path_factory.mktemp("objects")
    answer = folder / "objects.json"
    lists = "{{ {" + ", ".join(f"'{name}': {name}" for name in MODULES) + "} | to_json }}"
    role = {"name": "stackci.nodepool.awx", "tasks_from": "objects", "public": True}
    tasks = [
        {"name": "Make", "ansible.builtin.include_role": role},
        {"name": "Keep", "ansible.builtin.copy": {"content": lists, "dest": str(answer), "mode": "0600"}},
    ]
    play = [
        {"name": "Data", "hosts": "localhost", "gather_facts": False, "vars": {**OPTIONS, **LEASING}, "tasks": tasks}
    ]
    (folder / "play.yml").write_text(json.dumps(play), encoding="utf-8")
    done = command("ansible-playbook", "play.yml", folder=folder, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(answer.read_text("utf-8"))


def documented(module: str) -> dict[str, dict[str, object]]:
    """The argument spec that a module of awx.awx documents."""
    folder = neighbours.main() / "ansible_collections" / "awx" / "awx" / "plugins" / "modules"
    for node in ast.parse((folder / f"{module}.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION":
            options = yaml.safe_load(ast.literal_eval(node.value))["options"]
            kept = ("type", "choices", "elements", "required", "aliases")
            return {
                name: {key: spec[key] for key in kept if key in spec} | {"no_log": False}
                for name, spec in options.items()
            }
    raise AssertionError(f"awx.awx.{module} has no documentation")


@pytest.mark.parametrize("name", MODULES)
def test_each_entry_is_what_the_module_documents(objects, name):
    assert objects[name]
    for entry in objects[name]:
        # Empty ones are left out by the role, and by infra.aap_configuration.
        given = {key: value for key, value in entry.items() if key != NODES and (value != "" or key == "kind")}
        assert ArgumentSpecValidator(documented(MODULES[name])).validate(given).error_messages == []


def test_the_nodes_of_the_workflow_are_what_the_module_documents(objects):
    (workflow,) = objects["controller_workflows"]
    names = {node["identifier"] for node in workflow[NODES]}
    for node in workflow[NODES]:
        given = {**node, "workflow_job_template": workflow["name"]}
        assert ArgumentSpecValidator(documented("workflow_job_template_node")).validate(given).error_messages == []
        assert {follower for key in node if key.endswith("_nodes") for follower in node[key]} <= names


@pytest.mark.parametrize(
    ("failing", "ran"),
    [
        ("", ["lease", "play", "release"]),
        ("play", ["lease", "play", "release after a failure"]),
        ("lease", ["lease", "release after a failure"]),
    ],
)
def test_the_workflow_releases_whatever_happens_and_ends_as_its_play(objects, failing, ran):
    (workflow,) = objects["controller_workflows"]
    surveys = {entry["name"]: entry.get("survey_spec") for entry in objects["controller_templates"]}

    def works(node):
        given = node.get("extra_data", {})
        survey = surveys.get(node["unified_job_template"]) or {"spec": []}
        assert {*given} <= {question["variable"] for question in survey["spec"]}, "AWX takes only what the survey asks"
        # The playbook fails after the release; see tests/integration/ci/test_awx_playbooks.py.
        return node["identifier"] != failing and not given.get("lease_failure")

    assert run_workflow(workflow[NODES], works) == (ran, not failing)


def test_a_wrong_entry_is_noticed():
    wrong = {"name": "x", "verbosity": 7, "playbok": "x.yml"}
    assert len(ArgumentSpecValidator(documented("job_template")).validate(wrong).error_messages) == 2


def test_everything_belongs_to_the_organization(objects):
    for name in set(MODULES) - {"controller_credential_types"}:
        assert {entry["organization"] for entry in objects[name]} == {"Default"}


def test_the_playbooks_are_in_the_example(objects):
    assert [entry["playbook"] for entry in objects["controller_templates"]] != []
    assert {entry["playbook"] for entry in objects["controller_templates"]} <= set(playbooks_of(PROJECT))


@pytest.mark.parametrize("name", playbooks_of(PROJECT))
def test_a_playbook_of_the_example_runs_one_of_ours(tmp_path, name):
    done = command("ansible-playbook", "--syntax-check", PROJECT / name, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def injected(objects: Lists, inputs: Texts, folder: Path) -> tuple[Texts, Texts]:
    """What a job finds: environment and variables, with the files written as AWX writes them."""
    injectors = objects["controller_credential_types"][0]["injectors"]
    environment = ImmutableSandboxedEnvironment()
    names: Texts = {}
    for key, template in injectors["file"].items():
        name = key.split(".")[1]
        path = folder / f"tmp{len(names)}"
        path.write_text(environment.from_string(template).render(**inputs), encoding="utf-8")
        names[name] = str(path)
    render = {
        kind: {
            key: environment.from_string(template).render(**inputs, tower={"filename": names})
            for key, template in injectors[kind].items()
        }
        for kind in ("env", "extra_vars")
    }
    return render["env"], render["extra_vars"]


def test_a_job_finds_its_files(objects, tmp_path):
    inputs = {
        "clouds": "clouds: {}\n",
        "zookeeper_ca": "the authority\n",
        "zookeeper_cert": "the certificate\n",
        "zookeeper_key": "the key\n",
    }
    found, variables = injected(objects, inputs, tmp_path)
    assert Path(variables["nodepool_clouds_config"]).read_text("utf-8").strip() == "clouds: {}"
    assert found["OS_CLIENT_CONFIG_FILE"] == variables["nodepool_clouds_config"]
    # secure.conf was not given: the file is there and empty.
    secure = variables["nodepool_secure_config"]
    config = load_config(str(PROJECT / "nodepool.yaml"), secure, strict=True, environ={**os.environ, **found})
    tls = config.zookeeper.tls
    texts = [Path(path).read_text("utf-8").strip() for path in (tls.ca, tls.cert, tls.key)]
    assert texts == ["the authority", "the certificate", "the key"]


def test_the_roles_documentation_names_every_option():
    folder = ROOT / "roles" / "awx"
    documented_options = yaml.safe_load((folder / "meta" / "argument_specs.yml").read_text("utf-8"))["argument_specs"]
    defaults = yaml.safe_load((folder / "defaults" / "main.yml").read_text("utf-8"))
    options = documented_options["main"]["options"]
    assert set(options) == set(defaults)
    for name, value in defaults.items():
        if not name.endswith("_rrule"):
            assert options[name]["default"] == value, name
