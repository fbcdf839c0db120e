# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role awx: an empty server is filled, what is there is changed, and all is taken out again."""

from __future__ import annotations

import json
import socket
import sys
from dataclasses import dataclass

import pytest

from tests.integration.awx.conftest import PROJECT, SECRET, Site, platform, playbooks_of
from tests.support.ansible_run import COLLECTIONS, ROOT
from tests.support.awx.server import PASSWORD, TOKEN, USER, AwxServer, Call
from tests.support.awx.store import Awx

# Each run of the role starts two dozen modules, one after the other.
pytestmark = pytest.mark.timeout(3600)

NAMES = {
    "execution_environments": ["nodepool launcher", "nodepool builder"],
    "credential_types": ["nodepool"],
    "credentials": ["nodepool clouds and ZooKeeper"],
    "projects": ["nodepool"],
    "inventories": ["nodepool", "nodepool nodes"],
    "inventory_sources": ["nodepool servers"],
    "job_templates": ["nodepool launcher", "nodepool leak cleanup", "nodepool builder", "nodepool image rebuild"],
    "schedules": [
        "nodepool launcher",
        "nodepool leak cleanup",
        "nodepool builder",
        "nodepool image rebuild debian-12",
        "nodepool image rebuild ubuntu",
        "nodepool project",
    ],
}


@dataclass
class Run:
    """One run of the role: what it said, how many tasks changed something, what was sent."""

    screen: str
    changed: int
    writes: list[str]


def run(site: Site, *words: str, **options: object) -> Run:
    """Apply the role and keep what happened."""
    before = len(site.server.writes)
    done = site.run(*words, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    writes = site.server.writes[before:]
    assert [call for call in writes if call.status >= 400] == []
    changed = int(done.stdout.rsplit("changed=", 1)[1].split()[0])
    return Run(done.stdout + done.stderr, changed, [f"{call.method} {call.path}" for call in writes])


def names(site: Site) -> dict[str, list[str]]:
    """What is there, by kind."""
    return {kind: [thing["name"] for thing in site.awx.things[kind].values()] for kind in NAMES}


@pytest.mark.long
def test_from_nothing_to_everything(site):
    # One test, because each run of the role takes its time.
    checked = run(site, "--check")
    assert checked.writes == []
    applied = run(site, "-vvv")
    check_mode_named_everything(checked)
    assert checked.changed == applied.changed > 0
    assert names(site) == NAMES
    assert SECRET not in applied.screen
    assert [line for line in (checked.screen + applied.screen).splitlines() if "WARNING" in line] == []
    the_launcher_overlaps(site)
    each_image_has_a_time_of_its_own(site)
    templates_have_what_they_need(site)
    the_inventory_is_from_our_plugin(site)
    again = run(site)
    assert (again.changed, again.writes) == (0, [])


def check_mode_named_everything(checked):
    said = [line for line in checked.screen.splitlines() if line.startswith("changed:")]
    for name in {name for kind in NAMES.values() for name in kind}:
        assert any(f"(item={name})" in line for line in said), name


def the_launcher_overlaps(site):
    template = site.awx.named("job_templates", "nodepool launcher")
    assert template["allow_simultaneous"] is True
    assert json.loads(template["extra_vars"]) == {
        "nodepool_config": "/runner/project/nodepool.yaml",
        "nodepool_progress": False,
        "launcher_duration": 660,
        "launcher_until": "deadline",
    }
    assert template["timeout"] > 660
    assert template["organization"] == site.awx.named("organizations", "Default")["id"]
    schedule = site.awx.named("schedules", "nodepool launcher")
    assert schedule["unified_job_template"] == template["id"]
    assert schedule["rrule"] == "DTSTART:20260101T000000Z RRULE:FREQ=MINUTELY;INTERVAL=10"


def each_image_has_a_time_of_its_own(site):
    found = {
        schedule["name"]: (schedule["rrule"], schedule["extra_data"])
        for schedule in site.awx.things["schedules"].values()
        if "rebuild" in schedule["name"]
    }
    assert found == {
        "nodepool image rebuild debian-12": (
            "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1",
            {"image_names": ["debian-12"]},
        ),
        "nodepool image rebuild ubuntu": (
            "DTSTART:20260101T022000Z RRULE:FREQ=DAILY;INTERVAL=1",
            {"image_names": ["ubuntu"]},
        ),
    }
    template = site.awx.named("job_templates", "nodepool image rebuild")
    assert site.awx.surveys[template["id"]]["spec"][0]["choices"] == ["debian-12", "ubuntu"]
    assert template["survey_enabled"] is True


def templates_have_what_they_need(site):
    for name in NAMES["job_templates"]:
        template = site.awx.named("job_templates", name)
        assert site.awx.listed("job_templates", template["id"], "credentials") == NAMES["credentials"]
        groups = site.awx.listed("job_templates", template["id"], "instance_groups")
        assert groups == (["builders"] if name.endswith(("builder", "rebuild")) else [])


def the_inventory_is_from_our_plugin(site):
    source = site.awx.named("inventory_sources", "nodepool servers")
    assert (source["source"], source["source_path"]) == ("scm", "ci.nodepool.yml")
    assert "plugin: stackci.nodepool.nodepool" in (PROJECT / source["source_path"]).read_text("utf-8")
    assert source["source_project"] == site.awx.named("projects", "nodepool")["id"]
    assert source["inventory"] == site.awx.named("inventories", "nodepool nodes")["id"]


SMALL = {
    "awx_jobs": ["launcher"],
    "awx_builder_image": "",
    "awx_disk_images": [],
    "awx_inventory_file": "",
    # As -e name=value gives them.
    "awx_cleanup_days": "14",
    "awx_launcher_duration": "600",
    "awx_request_timeout": "30",
}


@pytest.mark.long
def test_a_smaller_set_with_a_login_and_a_cleanup_is_changed(site):
    site.options |= {"awx_token": "", "awx_username": USER, "awx_password": PASSWORD, **SMALL}
    # By the interpreter that users have.
    run(site, ansible_python_interpreter=sys.executable)
    assert names(site) == {
        **NAMES,
        "execution_environments": ["nodepool launcher"],
        "inventory_sources": [],
        "job_templates": ["nodepool launcher"],
        "schedules": ["nodepool launcher", "nodepool project", "nodepool cleanup of job events"],
    }
    cleanup = site.awx.named("schedules", "nodepool cleanup of job events")
    assert cleanup["extra_data"] == {"days": "14"}
    assert cleanup["unified_job_template"] == site.awx.named("system_job_templates", "Cleanup Job Details")["id"]
    assert site.server.sessions == {}, "every token is given back"
    site.options |= {"awx_token": TOKEN, "awx_username": "", "awx_password": ""}
    # A secret cannot be compared: it is sent again when it is asked for, and only then.
    schedules_of_images(site.awx)
    number = site.awx.named("credentials", "nodepool clouds and ZooKeeper")["id"]
    changes = {"awx_launcher_minutes": 5, "awx_launcher_duration": 300, "awx_clouds_yaml": "clouds: {}\n"}
    changed = run(site, **changes, awx_zookeeper_ca="the authority", awx_cleanup_days=0)
    assert len([write for write in changed.writes if write.startswith("PATCH")]) == 3
    assert SECRET not in str(site.server.writes[-len(changed.writes) :]), "a secret is not sent with something else"
    assert site.awx.things["credentials"][number]["inputs"]["clouds"] == site.options["awx_clouds_yaml"]
    left = [schedule["name"] for schedule in site.awx.things["schedules"].values()]
    assert left == ["nodepool launcher", "nodepool project", "nodepool image rebuild by somebody"]
    assert len(run(site, **changes, awx_cleanup_days=0, awx_update_secrets=True).writes) == 1
    assert site.awx.things["credentials"][number]["inputs"] == {"clouds": "clouds: {}\n"}


def schedules_of_images(awx: Awx) -> None:
    """One that the role made for an image that is gone, and one by somebody else."""
    ids = {
        name: awx.named(kind, "nodepool")["id"]
        for name, kind in (("project", "projects"), ("inventory", "inventories"))
    }
    body = {"name": "nodepool image rebuild", "playbook": "image_rebuild.yml", "ask_variables_on_launch": True, **ids}
    template = awx.answer("POST", "/api/v2/job_templates/", {}, body)[1]["id"]
    rule = "DTSTART:20260101T000000Z RRULE:FREQ=DAILY;INTERVAL=1"
    for name, image in (("old", "old"), ("by somebody", "debian-12")):
        about = {"name": f"nodepool image rebuild {name}", "extra_data": {"image_names": [image]}}
        body = {**about, "unified_job_template": template, "rrule": rule}
        assert awx.answer("POST", "/api/v2/schedules/", {}, body)[0] == 201


def fill(awx: Awx) -> None:
    """Put in everything of the names that the role gives, and what hangs together as the role has it."""

    def add(collection: str, name: str, **body: object) -> int:
        status, answer = awx.answer("POST", f"/api/v2/{collection}/", {}, {"name": name, **body})
        assert status == 201, answer
        return int(answer["id"])

    ours = {"organization": awx.named("organizations", "Default")["id"]}
    environments = [add("execution_environments", name, image="x", **ours) for name in NAMES["execution_environments"]]
    kind = add("credential_types", "nodepool", kind="cloud", inputs={"fields": []}, injectors={})
    login = add("credentials", NAMES["credentials"][0], credential_type=kind, inputs={}, **ours)
    project = add("projects", "nodepool", scm_type="git", scm_url="https://git.example.org/x.git", **ours)
    awx.updates.look()
    empty, nodes = (add("inventories", name, **ours) for name in NAMES["inventories"])
    source = {"inventory": nodes, "source": "scm", "source_project": project, "source_path": "ci.nodepool.yml"}
    add("inventory_sources", NAMES["inventory_sources"][0], **source)
    play = {
        "project": project,
        "inventory": empty,
        "playbook": "launcher.yml",
        "execution_environment": environments[0],
    }
    templates = {name: add("job_templates", name, **play) for name in NAMES["job_templates"]}
    for number in templates.values():
        assert awx.answer("POST", f"/api/v2/job_templates/{number}/credentials/", {}, {"id": login})[0] == 204
    rule = "DTSTART:20260101T000000Z RRULE:FREQ=DAILY;INTERVAL=1"
    for name in NAMES["schedules"]:
        of = next((number for title, number in templates.items() if name.startswith(title)), project)
        add("schedules", name, unified_job_template=of, rrule=rule)


@pytest.mark.long
def test_everything_is_taken_out_again(site):
    fill(site.awx)
    assert names(site) == NAMES
    others = site.awx.answer("POST", "/api/v2/organizations/", {}, {"name": "Others"})[1]["id"]
    site.awx.things["execution_environments"][site.awx.named("execution_environments", "nodepool builder")["id"]][
        "organization"
    ] = others
    kind = site.awx.named("credential_types", "nodepool")["id"]
    body = {"name": "theirs", "organization": others, "credential_type": kind, "inputs": {}}
    assert site.awx.answer("POST", "/api/v2/credentials/", {}, body)[0] == 201
    launchers = [site.awx.start("job_templates", "nodepool launcher") for _job in range(2)]
    # It ends by itself, because awx.awx cannot cancel it.
    site.awx.start("projects", "nodepool", canceled=True, looks=4)
    checked = run(site, "--check", awx_state="absent")
    assert (checked.changed > 0, checked.writes) == (True, [])
    first = apply(site, awx_state="absent", _awx_pause=1)
    assert [job.status for job in launchers] == ["canceled", "canceled"]
    assert names(site) == {
        **{kind: [] for kind in NAMES},
        "execution_environments": ["nodepool builder"],
        "credential_types": ["nodepool"],
        "credentials": ["theirs"],
    }, "what another organization has or uses stays"
    schedules = [call for call in first if call.path.startswith("/api/v2/schedules/")]
    assert first[: len(schedules)] == schedules, "nothing starts a job any more before jobs are canceled"
    assert {call.status for call in first if call.status >= 400} == {403}, "asked again while events are processed"
    again = run(site, awx_state="absent")
    assert (again.changed, again.writes) == (0, [])


def apply(site: Site, **options: object) -> list[Call]:
    """What is sent when the role is applied, which may be refused at first."""
    before = len(site.server.writes)
    done = site.run(**options)
    assert done.returncode == 0, done.stdout + done.stderr
    return site.server.writes[before:]


@pytest.mark.long
def test_what_was_taken_out_in_part_is_taken_out_by_the_next_run(site):
    fill(site.awx)
    # A job that nobody can cancel: it ends while the second run waits.
    job = site.awx.start("projects", "nodepool", looks=6)
    done = site.run(awx_state="absent", awx_wait_seconds=1, _awx_pause=1)
    assert f"Still running after 1 s: /api/v2/project_updates/{job.id}/" in " ".join(done.stdout.split())
    assert names(site)["schedules"] == []
    job.canceled = True
    apply(site, awx_state="absent", _awx_pause=1)
    assert names(site) == {kind: [] for kind in NAMES}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"awx_launcher_rrule": "DTSTART:20260101T000000Z RRULE:FREQ=SECONDLY"},
            "schedule nodepool launcher: RRULE:FREQ=SECONDLY: FREQ=SECONDLY is too often",
        ),
        ({"awx_timezone": "Europe/Berln"}, "Europe/Berln is not a time zone"),
        ({"awx_launcher_duration": 300}, "nobody would serve in between"),
        ({"awx_project_url": ""}, "awx_project_url is empty"),
        ({"awx_jobs": ["lancher"]}, "lancher"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_asked(site, options, words):
    assert words in " ".join(site.refused(**options).split())
    assert site.server.calls == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"awx_organization": "Nobody"}, "There is no organization Nobody in AWX"),
        ({"awx_builder_instance_groups": ["bilders"]}, "There is no instance group bilders in AWX"),
        ({"awx_image_credential": "registry"}, "There is no credential registry in AWX"),
        ({}, "nodepool nodes is in AWX already (inventories) and does not belong to the organization Default"),
    ],
)
def test_what_has_to_be_there_is_looked_up_first_also_in_check_mode(site, options, words):
    if not options:
        others = site.awx.answer("POST", "/api/v2/organizations/", {}, {"name": "Others"})[1]["id"]
        body = {"name": "nodepool nodes", "organization": others}
        assert site.awx.answer("POST", "/api/v2/inventories/", {}, body)[0] == 201
    done = site.run("--check", **options)
    assert done.returncode != 0
    assert words in " ".join(done.stdout.split())


def test_a_credential_type_of_somebody_else_is_left_alone(site):
    fields = [{"id": "user", "label": "User", "type": "string"}]
    body = {"name": "nodepool", "kind": "cloud", "inputs": {"fields": fields}, "injectors": {}}
    assert site.awx.answer("POST", "/api/v2/credential_types/", {}, body)[0] == 201
    said = " ".join(site.refused(**SMALL).split())
    assert "The credential type nodepool is in AWX already and has other fields" in said
    assert site.server.writes == []


def test_a_wrong_password_is_told_without_it(site):
    said = " ".join(site.refused(awx_token="", awx_username=USER, awx_password="wrong-password").split())
    assert f"AWX does not let {USER} in. Failed to get token: HTTP Error 401" in said
    assert "wrong-password" not in said


def test_a_server_that_does_not_answer_is_told_with_its_address(site):
    with socket.socket() as taken:
        # Nobody listens.
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        said = site.refused(awx_host=address, awx_token="", awx_username=USER, awx_password=PASSWORD)
    assert f"AWX does not answer as it should at {address}. Failed to get token: " in " ".join(said.split())
    assert PASSWORD not in said


def test_without_awx_awx_it_says_what_to_install(site):
    done = site.run(ANSIBLE_COLLECTIONS_PATH=str(COLLECTIONS))
    assert done.returncode != 0
    assert "ansible-galaxy collection install awx.awx" in " ".join(done.stdout.split())
    assert site.server.calls == []


CONTROLLER = {"awx_collection": "ansible.controller", "awx_jobs": ["launcher"], "awx_disk_images": []}
PREFIX = {"CONTROLLER_OPTIONAL_API_URLPATTERN_PREFIX": "/api/controller/"}


@pytest.mark.long
def test_the_gateway_of_the_platform_gets_the_same_objects(tmp_path, python):
    """Without awx.awx: all modules, the lookup and the defaults are of the other collection."""
    with AwxServer(Awx(playbooks_of(PROJECT)), gateway=True) as server, platform(tmp_path, server) as (site, paths):
        site.options |= CONTROLLER
        # By password: the defaults of the modules have it, and the token of the role.
        login = {"awx_token": "", "awx_username": USER, "awx_password": PASSWORD}
        applied = run(site, **login, **paths)
        assert applied.changed > 0
        assert names(site)["job_templates"] == ["nodepool launcher"]
        assert server.sessions == {}, "the role gives its token back"
        again = run(site, **paths)
        assert (again.changed, again.writes) == (0, [])
        # awx.awx reaches the gateway when the environment names its path.
        other = run(site, awx_collection="awx.awx", ansible_python_interpreter=str(python), **PREFIX)
        assert (other.changed, other.writes) == (0, [])
        run(site, awx_state="absent", **paths)
        assert names(site)["job_templates"] == []


def test_later_releases_of_the_platforms_collection_take_the_token_by_another_option(tmp_path):
    gateway = AwxServer(Awx(playbooks_of(PROJECT)), gateway=True)
    with gateway as server, platform(tmp_path, server, later=True) as (site, paths):
        site.options |= CONTROLLER
        assert run(site, **paths).changed > 0
        assert names(site)["job_templates"] == ["nodepool launcher"]
        assert not any("/tokens/" in call.path for call in server.calls)


def test_without_the_collection_of_the_platform_it_says_what_to_install(site):
    said = " ".join(site.refused(**CONTROLLER).split())
    assert "The collection ansible.controller is not installed" in said
    assert site.server.calls == []


def test_what_awx_refuses_fails_with_its_words(site):
    site.options |= SMALL
    site.options["awx_playbooks"] = dict.fromkeys(("launcher", "leak_cleanup", "builder", "image_rebuild"), "lost.yml")
    assert "Playbook not found for project." in site.refused()
    # As where it was broken off between the two: the credential type is ours.
    site.awx.things["credentials"].clear()
    # Now that the project is there, it is looked into before anything is sent.
    before = len(site.server.writes)
    assert "AWX does not find lost.yml in the project nodepool." in " ".join(site.refused().split())
    assert len(site.server.writes) == before


def test_a_project_that_was_never_fetched_is_fetched_by_the_next_run(site):
    options = {**SMALL, "awx_project_url": "https://nowhere.example.org/x.git"}
    words = "AWX could not fetch the project nodepool."
    assert words in " ".join(site.refused(**options).split())
    assert words in " ".join(site.refused(**options).split()), "not that there are no playbooks in it"
    assert "| `AWX could not fetch the project` |" in (ROOT / "docs" / "awx.md").read_text("utf-8")
    # The repository is there now; nothing about the project changes.
    site.awx.updates.unreachable = "elsewhere"
    run(site, **options)
    assert names(site)["job_templates"] == ["nodepool launcher"]
    again = run(site, **options)
    assert (again.changed, again.writes) == (0, [])


def test_an_update_of_the_project_is_not_waited_for_without_end(site):
    # As where AWX has no capacity for it.
    site.awx.updates.looks = 1_000_000
    said = " ".join(site.refused(**SMALL, awx_wait_seconds=1).split())
    assert "AWX has not fetched the project nodepool after 1 s." in said
    assert names(site)["job_templates"] == []


LEASING = {"awx_jobs": ["launcher", "lease", "extend", "release", "explain", "status"], "awx_disk_images": []}
ASKED = ["nodepool lease", "nodepool extend", "nodepool release", "nodepool explain", "nodepool status"]


@pytest.mark.long
def test_pipelines_lease_nodes_through_templates_and_a_workflow(site):
    run(site, **LEASING)
    found = names(site)["job_templates"]
    assert found == ["nodepool launcher", *ASKED]
    surveys = {
        name: [question["variable"] for question in site.awx.surveys.get(template["id"], {}).get("spec", [])]
        for name in ASKED
        for template in [site.awx.named("job_templates", name)]
    }
    assert surveys == {
        "nodepool lease": ["lease_name", "lease_labels", "lease_expires", "lease_timeout"],
        "nodepool extend": ["lease_name", "lease_expires"],
        "nodepool release": ["lease_name", "lease_failure"],
        "nodepool explain": ["id"],
        "nodepool status": [],
    }
    lease = site.awx.named("job_templates", "nodepool lease")
    assert (lease["playbook"], lease["allow_simultaneous"]) == ("lease.yml", True)
    own = {"project": lease["project"], "inventory": lease["inventory"], "playbook": "launcher.yml"}
    status, play = site.awx.answer("POST", "/api/v2/job_templates/", {}, {"name": "acceptance", **own})
    assert status == 201, play

    wanted = {**LEASING, "awx_workflow_template": "acceptance"}
    assert run(site, "--check", **wanted).writes == []
    run(site, **wanted)
    (workflow,) = site.awx.things["workflow_job_templates"].values()
    assert workflow["name"] == "nodepool lease, play, release" and workflow["allow_simultaneous"]
    nodes = {node["identifier"]: node for node in site.awx.things["workflow_job_template_nodes"].values()}
    release = site.awx.named("job_templates", "nodepool release")["id"]
    assert {name: node["unified_job_template"] for name, node in nodes.items()} == {
        "lease": lease["id"],
        "play": play["id"],
        "release": release,
        "release after a failure": release,
    }
    well, badly = [nodes["release"]["id"]], [nodes["release after a failure"]["id"]]
    assert links(site, nodes["lease"]) == {"success": [nodes["play"]["id"]], "failure": badly}
    assert links(site, nodes["play"]) == {"success": well, "failure": badly}
    assert nodes["release after a failure"]["extra_data"] == {"lease_failure": "the lease or acceptance failed"}
    again = run(site, **wanted)
    assert (again.changed, again.writes) == (0, [])
    run(site, awx_state="absent", **wanted)
    assert site.awx.things["workflow_job_templates"] == {} and site.awx.things["workflow_job_template_nodes"] == {}
    assert names(site)["job_templates"] == ["acceptance"]


def links(site, node):
    """The nodes that follow a node of a workflow, by the condition."""
    found = {}
    for when in ("success", "failure", "always"):
        path = f"/api/v2/workflow_job_template_nodes/{node['id']}/{when}_nodes/"
        found[when] = [item["id"] for item in site.awx.answer("GET", path, {}, None)[1]["results"]]
    return {when: ids for when, ids in found.items() if ids}
