# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoint that plays AWX refuses what AWX refuses; else the tests of the role could not fail."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.filter.rrule_problems import rrule_problems
from tests.support.awx.store import Awx

FIELDS = [{"id": "a", "label": "A", "type": "string", "secret": True}]
START = "DTSTART:20260101T000000Z "
DAILY = START + "RRULE:FREQ=DAILY;INTERVAL=1"
QUESTION = {"type": "multiselect", "question_name": "Q", "variable": "q", "required": True, "choices": ["a", "b"]}


@pytest.fixture
def awx():
    made = Awx(["site.yml"])
    post(made, "credential_types", name="type", kind="cloud", inputs={"fields": FIELDS}, injectors={})
    post(made, "projects", name="project", organization=1, scm_type="git", scm_url="https://git.example.org/a.git")
    made.updates.look()
    post(made, "inventories", name="inventory", organization=1)
    post(made, "job_templates", **template(made, name="template", survey_enabled=True))
    return made


def post(awx, collection, /, **body):
    """Make a thing; its id."""
    status, answer = awx.answer("POST", f"/api/v2/{collection}/", {}, body)
    assert status == 201, answer
    return answer["id"]


def test_what_is_right_is_taken(awx):
    post(awx, "job_templates", **template(awx))
    post(awx, "credential_types", **credential_type(injectors={"env": {"A": "{{ a }}"}}))
    post(awx, "schedules", name="s", unified_job_template=awx.named("projects", "project")["id"], rrule=DAILY)


def template(awx, **changes):
    """The body of a job template."""
    project, inventory = awx.named("projects", "project")["id"], awx.named("inventories", "inventory")["id"]
    return {"name": "new", "playbook": "site.yml", "project": project, "inventory": inventory, **changes}


def credential_type(**changes):
    """The body of a credential type."""
    return {"name": "new", "kind": "cloud", "inputs": {"fields": FIELDS}, "injectors": {}, **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"playbok": "site.yml"},
        {"playbook": "other.yml"},
        {"verbosity": 6},
        {"verbosity": True},
        {"timeout": "60"},
        {"forks": -1},
        {"extra_vars": "no json"},
        {"extra_vars": "[1]"},
        {"description": None},
        {"inventory": 999},
        {"inventory": None},
        {"project": None},
        {"name": ""},
        {"name": "template"},
    ],
)
def test_a_wrong_template_is_refused(awx, changes):
    status, answer = awx.answer("POST", "/api/v2/job_templates/", {}, template(awx, **changes))
    assert status == 400, answer


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "ssh"},
        {"inputs": {"fields": [{"id": "1a", "label": "A"}]}},
        {"inputs": {"fields": FIELDS * 2}},
        {"inputs": {"fields": FIELDS, "required": ["b"]}},
        {"inputs": {"fields": [{**FIELDS[0], "colour": "red"}]}},
        {"injectors": {"env": {"ANSIBLE_CONFIG": "{{ a }}"}}},
        {"injectors": {"env": {"PATH": "{{ a }}"}}},
        {"injectors": {"env": {"A": "{{ b }}"}}},
        {"injectors": {"env": {"A": "{{ tower.filename }}"}}},
        {"injectors": {"env": {"A": "{{ a"}}},
        {"injectors": {"env": {"A": 1}}},
        {"injectors": {"file": {"template": "{{ a }}", "template.b": "{{ a }}"}}},
        {"injectors": {"file": {"tmpl": "{{ a }}"}}},
        {"injectors": {"file": {"template.b": "{{ a }}", "template.c": "{{ tower.filename.b }}"}}},
        {"injectors": {"files": {}}},
    ],
)
def test_a_wrong_credential_type_is_refused(awx, changes):
    status, answer = awx.answer("POST", "/api/v2/credential_types/", {}, credential_type(**changes))
    assert status == 400, answer


@pytest.mark.parametrize("inputs", [{"b": "x"}, {"a": 1}, {"a": None}])
def test_a_wrong_credential_is_refused(awx, inputs):
    body = {"name": "c", "credential_type": awx.named("credential_types", "type")["id"], "inputs": inputs}
    assert awx.answer("POST", "/api/v2/credentials/", {}, body)[0] == 400


def test_a_secret_is_not_shown_and_may_be_sent_as_it_was_shown(awx):
    kind = awx.named("credential_types", "type")["id"]
    number = post(awx, "credentials", name="c", credential_type=kind, inputs={"a": "secret"})
    path = f"/api/v2/credentials/{number}/"
    _status, shown = awx.answer("GET", path, {}, None)
    assert shown["inputs"] == {"a": "$encrypted$"}
    awx.answer("PATCH", path, {}, {"inputs": shown["inputs"]})
    assert awx.things["credentials"][number]["inputs"] == {"a": "secret"}


@pytest.mark.parametrize(
    "rrule",
    [
        "",
        "RRULE:FREQ=DAILY;INTERVAL=1",
        "DTSTART:20260101T000000 RRULE:FREQ=DAILY;INTERVAL=1",
        START,
        START + DAILY,
        START + "RRULE:FREQ=DAILY",
        START + "RRULE:FREQ=SECONDLY;INTERVAL=10",
        START + "RRULE:FREQ=DAILY;INTERVAL=1;COUNT=1000",
        START + "RRULE:FREQ=DAILY;INTERVAL=1;COUNT=9;UNTIL=20270101T000000Z",
        START + "RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=1MO",
        START + "RRULE:FREQ=DAILY;INTERVAL=1;UNTIL=20271231",
        START + "RRULE:FREQ=DAILY;INTERVAL=1;until=20271231T235959Z",
        START + "RRULE:FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1",
        START + "RRULE:FREQ=DAILY;INTERVAL=1;BYMOON=1",
        "DTSTART;TZID=Europe/Berln:20260101T020000 RRULE:FREQ=DAILY;INTERVAL=1",
        DAILY + " EXDATE:20260105T000000Z",
    ],
)
def test_a_wrong_rule_is_refused(awx, rrule):
    body = {"name": "s", "unified_job_template": awx.named("projects", "project")["id"], "rrule": rrule}
    assert awx.answer("POST", "/api/v2/schedules/", {}, body)[0] == 400
    # The collection's own judgement, made apart from it, is the same.
    assert rrule_problems(rrule) != []


@pytest.mark.parametrize(
    "rrule",
    [
        START + "RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=-1FR",
        START + "RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=+1MO,2TU",
        START + "RRULE:FREQ=DAILY;INTERVAL=1;UNTIL=20271231T235959",
        START + "RRULE:FREQ=MINUTELY;INTERVAL=7",
    ],
)
def test_a_rule_that_is_fine_is_taken(awx, rrule):
    post(awx, "schedules", name="s", unified_job_template=awx.named("projects", "project")["id"], rrule=rrule)
    assert rrule_problems(rrule) == []


@pytest.mark.parametrize("rule", ["FREQ=DAILY;INTERVAL=1;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;INTERVAL=0"])
def test_a_rule_that_never_fires_or_never_ends_keeps_it_busy(awx, rule):
    rrule = f"{START}RRULE:{rule}"
    body = {"name": "s", "unified_job_template": awx.named("projects", "project")["id"], "rrule": rrule}
    assert awx.answer("POST", "/api/v2/schedules/", {}, body)[0] == 504
    assert rrule_problems(rrule) != []


@pytest.mark.parametrize(
    ("data", "status"),
    [({"q": ["a"]}, 201), ({"q": ["c"]}, 400), ({"q": "a"}, 400), ({}, 400), ({"q": ["a"], "r": 1}, 400)],
)
def test_a_schedule_answers_the_survey(awx, data, status):
    number = awx.named("job_templates", "template")["id"]
    survey = {"name": "", "description": "", "spec": [QUESTION]}
    assert awx.answer("POST", f"/api/v2/job_templates/{number}/survey_spec/", {}, survey)[0] == 200
    body = {"name": "s", "unified_job_template": number, "rrule": DAILY, "extra_data": data}
    assert awx.answer("POST", "/api/v2/schedules/", {}, body)[0] == status


@pytest.mark.parametrize(
    "changes",
    [{"type": "list"}, {"required": "yes"}, {"choices": []}, {"default": "c"}, {"min": "1"}, {"variable": None}],
)
def test_a_wrong_survey_is_refused(awx, changes):
    number = awx.named("job_templates", "template")["id"]
    survey = {"name": "", "description": "", "spec": [{**QUESTION, **changes}]}
    assert awx.answer("POST", f"/api/v2/job_templates/{number}/survey_spec/", {}, survey)[0] == 400


def question(kind, **more):
    return {"type": kind, "question_name": "Q", "variable": "q", "required": False, **more}


@pytest.mark.parametrize(
    ("asked", "answer", "told"),
    [
        (question("text", min=1, max=3), "abc", ""),
        (question("text"), 5, "expected to be a string"),
        (question("text"), ["a"], "expected to be a string"),
        (question("text", min=1), "", "too small (length is 0 must be at least 1)."),
        (question("textarea", max=3), "abcd", "too large"),
        (question("integer", min=60, max=90), 60, ""),
        (question("integer"), "60", "expected to be an integer"),
        (question("integer"), True, "expected to be an integer"),
        (question("integer"), 60.0, "expected to be an integer"),
        (question("integer", min=60), 59, "too small (must be at least 60)."),
        (question("integer", max=90), 91, "too large"),
        (question("float"), 1, ""),
        (question("float"), "1.5", "expected to be a numeric type"),
        (question("multiplechoice", choices="a\nb"), "b", ""),
        (question("multiplechoice", choices=["a", "b"]), "c", "expected to be one of"),
        (question("multiselect", choices=["a", "b"]), ["b"], ""),
        (question("multiselect", choices=["a", "b"]), "b", "expected to be a list"),
        (question("multiselect", choices=["a", "b"]), ["c"], "expected to be one of"),
        (question("text", required=True, default="a"), None, "'q' value missing"),
    ],
)
def test_a_launch_answers_the_survey(awx, asked, answer, told):
    number = awx.named("job_templates", "template")["id"]
    survey = {"name": "", "description": "", "spec": [asked]}
    assert awx.answer("POST", f"/api/v2/job_templates/{number}/survey_spec/", {}, survey)[0] == 200
    body = {"extra_vars": {} if answer is None else {"q": answer}}
    status, said = awx.answer("POST", f"/api/v2/job_templates/{number}/launch/", {}, body)
    assert (status, told in str(said.get("variables_needed_to_start", ""))) == (400 if told else 201, True)


def test_a_node_of_a_workflow_answers_the_survey_as_far_as_it_does(awx):
    number = awx.named("job_templates", "template")["id"]
    spec = [question("integer"), question("text", variable="r", required=True)]
    survey = {"name": "", "description": "", "spec": spec}
    assert awx.answer("POST", f"/api/v2/job_templates/{number}/survey_spec/", {}, survey)[0] == 200
    workflow = post(awx, "workflow_job_templates", name="w", organization=1)
    for at, (data, status) in enumerate([({}, 201), ({"q": 5}, 201), ({"q": "5"}, 400), ({"other": 5}, 400)]):
        body = {"identifier": f"{at}", "workflow_job_template": workflow, "unified_job_template": number}
        body["extra_data"] = data
        assert awx.answer("POST", "/api/v2/workflow_job_template_nodes/", {}, body)[0] == status


def test_a_type_in_use_is_not_deleted(awx):
    kind = awx.named("credential_types", "type")["id"]
    post(awx, "credentials", name="c", credential_type=kind, inputs={})
    assert awx.answer("DELETE", f"/api/v2/credential_types/{kind}/", {}, None)[0] == 403


def test_what_a_job_uses_is_deleted_after_its_end_and_its_events(awx):
    job = awx.start("job_templates", "template")
    path = f"/api/v2/job_templates/{awx.named('job_templates', 'template')['id']}/"
    status, answer = awx.answer("DELETE", path, {}, None)
    assert (status, answer["active_jobs"]) == (409, [{"id": job.id, "type": "job"}])
    assert awx.answer("DELETE", f"/api/v2/projects/{job.project}/", {}, None)[0] == 409
    assert awx.answer("DELETE", f"/api/v2/inventories/{job.inventory}/", {}, None)[0] == 409
    assert awx.answer("POST", f"/api/v2/jobs/{job.id}/cancel/", {}, {})[0] == 202
    seen = [awx.answer("GET", "/api/v2/unified_jobs/", {"id": str(job.id)}, None)[1] for _look in range(2)]
    assert [page["results"][0]["status"] for page in seen] == ["running", "canceled"]
    assert awx.answer("POST", f"/api/v2/jobs/{job.id}/cancel/", {}, {})[0] == 405
    assert [awx.answer("DELETE", path, {}, None)[0] for _call in range(2)] == [403, 204]


def test_a_project_is_fetched_when_it_is_new_or_moved_or_when_somebody_asks(awx):
    made = {"name": "new", "organization": 1, "scm_type": "git", "scm_url": "https://git.example.org/b.git"}
    path = f"/api/v2/projects/{post(awx, 'projects', **made)}/"

    def seen():
        view = awx.answer("GET", path, {}, None)[1]
        return view["status"], view["scm_revision"] != "", "current_update" in view["summary_fields"]

    assert seen() == ("pending", False, True)
    awx.answer("GET", "/api/v2/projects/", {}, None)
    assert seen() == ("successful", True, False)
    awx.answer("PATCH", path, {}, {"description": "the same place"})
    assert seen() == ("successful", True, False)
    awx.answer("PATCH", path, {}, {"scm_url": "https://nowhere.example.org/a.git"})
    awx.answer("GET", "/api/v2/projects/", {}, None)
    assert seen() == ("failed", True, False), "what was fetched before stays"
    status, update = awx.answer("POST", f"{path}update/", {}, {})
    assert (status, update["status"]) == (202, "pending")
    looks = [awx.answer("GET", update["url"], {}, None)[1]["status"] for _look in range(2)]
    assert looks == ["pending", "failed"]


def test_an_inventory_goes_later(awx):
    path = f"/api/v2/inventories/{awx.named('inventories', 'inventory')['id']}/"
    assert [awx.answer("DELETE", path, {}, None)[0] for _call in range(2)] == [202, 400]
    seen = [awx.answer("GET", "/api/v2/inventories/", {}, None)[1]["results"] for _look in range(2)]
    assert [[one["pending_deletion"] for one in page] for page in seen] == [[True], []]


def test_lists_come_in_pages(awx):
    for number in range(30):
        post(awx, "organizations", name=f"o{number}")
    status, first = awx.answer("GET", "/api/v2/organizations/", {"name__startswith": "o"}, None)
    assert (status, first["count"], len(first["results"])) == (200, 30, 25)
    assert first["next"] == "/api/v2/organizations/?name__startswith=o&page=2"


def test_an_unknown_search_is_refused(awx):
    assert awx.answer("GET", "/api/v2/projects/", {"nam": "project"}, None)[0] == 400
