# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX holds, and how it answers a call. In memory; no HTTP."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.awx import checks, surveys
from tests.support.awx.fields import ASSOCIATIONS, FIELDS, TYPES, UNIFIED, UNIQUE
from tests.support.awx.jobs import ACTIVE, Job, Jobs
from tests.support.awx.pages import UnknownField, page
from tests.support.awx.rrules import BUSY, rrule_problem
from tests.support.awx.updates import TRIGGERS, Updates

ROOT = "/api/v2/"
LOOKS = 2
"""Looks at inventories after which a deleted one is gone."""
Thing = dict[str, Any]
Answer = tuple[int, Any]


class Refusal(Exception):
    """AWX does not do it.

    :ivar status: the status of the answer.
    :ivar body: its body.
    """

    def __init__(self, status: int, **body: Any) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


class Awx:
    """Organizations, projects and so on, by kind and id.

    :param playbooks: what is found in each project.
    :ivar run: is called with each job that is launched, its playbook and its variables; the job stays pending
        until somebody changes its status.
    """

    def __init__(self, playbooks: list[str]) -> None:
        self._playbooks = playbooks
        self._ids = itertools.count(1)
        self.things: dict[str, dict[int, Thing]] = {kind: {} for kind in FIELDS}
        self._lists: dict[tuple[str, int, str], list[int]] = {}
        self.surveys: dict[int, Thing] = {}
        self.jobs = Jobs()
        self.run: Callable[[Job, str, dict[str, Any]], object] = lambda _job, _playbook, _variables: None
        self.updates = Updates()
        self._leaving: dict[int, int] = {}
        self._add("organizations", {"name": "Default"})
        self._add("instance_groups", {"name": "builders"})
        self._add("system_job_templates", {"name": "Cleanup Job Details", "job_type": "cleanup_jobs"})

    def named(self, kind: str, name: str) -> Thing:
        """The thing of that name, as the API shows it."""
        (found,) = [thing for thing in self.things[kind].values() if thing["name"] == name]
        return self._view(kind, found)

    def listed(self, kind: str, number: int, name: str) -> list[str]:
        """The names in a list that hangs at a thing."""
        other = ASSOCIATIONS[kind][name]
        return [self.things[other][item]["name"] for item in self._lists.get((kind, number, name), [])]

    def start(self, kind: str, name: str, **changes: Any) -> Job:
        """A job of a template, or an update of a project or of an inventory's source, begins."""
        thing = self.named(kind, name)
        job_type = {"job_templates": "job", "projects": "project_update"}.get(kind, "inventory_update")
        project = thing["id"] if kind == "projects" else thing.get("project")
        about = {"unified_job_template": thing["id"], "project": project, "inventory": thing.get("inventory")}
        return self.jobs.add(Job(id=next(self._ids), type=job_type, name=name, **{**about, **changes}))

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Answer:
        """The status and the body of the answer to one call."""
        parts = path.removeprefix(ROOT).strip("/").split("/")
        try:
            if not path.startswith(ROOT):
                raise Refusal(404, detail="Not found.")
            return self._route(method, parts, query, body)
        except UnknownField as unknown:
            return 400, {"detail": str(unknown)}
        except Refusal as refusal:
            return refusal.status, refusal.body

    def _route(self, method: str, parts: list[str], query: Mapping[str, str], body: Any) -> Answer:
        match method, parts:
            case "GET", ["unified_job_templates"]:
                views = [self._view(kind, one) for kind in UNIFIED for one in self._all(kind)]
                return 200, page(views, f"{ROOT}unified_job_templates/", query, FIELDS["job_templates"])
            case "GET", ["unified_jobs"]:
                return 200, page(self.jobs.views(), f"{ROOT}unified_jobs/", query)
            case "GET", ["jobs"]:
                jobs = [view for view in self.jobs.views() if view["type"] == "job"]
                return 200, page(jobs, f"{ROOT}jobs/", query)
            case "GET", ["jobs", number] if job := self.jobs.all.get(int(number)):
                job.seen()
                return 200, job.view()
            case "GET", ["jobs", number, "cancel"]:
                return 200, {"can_cancel": self.jobs.all[int(number)].status in ACTIVE}
            case "POST", ["jobs", number, "cancel"]:
                return self.jobs.cancel(int(number))
            case "GET", ["project_updates", number] if update := self.updates.one(int(number)):
                self.updates.look()
                return 200, update
            case "GET", [kind] if kind in FIELDS:
                if kind == "projects":
                    self.updates.look()
                self._leave(kind)
                return 200, page([self._view(kind, thing) for thing in self._all(kind)], f"{ROOT}{kind}/", query)
            case "POST", [kind] if kind in FIELDS:
                return 201, self._view(kind, self._create(kind, body))
            case _, [kind, number, *rest] if kind in FIELDS and number.isdecimal():
                return self._route_to_one(method, kind, self._one(kind, int(number)), rest, body)
        raise Refusal(404, detail="Not found.")

    def _route_to_one(self, method: str, kind: str, thing: Thing, rest: list[str], body: Any) -> Answer:
        match method, rest:
            case "GET", []:
                return 200, self._view(kind, thing)
            case "PATCH", []:
                return 200, self._view(kind, self._change(kind, thing, body))
            case "DELETE", []:
                return self._delete_if_free(kind, thing)
            case "POST", ["update"] if kind == "projects":
                return 202, self.updates.begin(thing)
            case "POST", ["launch"] if kind == "job_templates":
                return self._launch(thing, (body or {}).get("extra_vars", {}))
            case "GET", ["playbooks"] if kind == "projects":
                return 200, self._playbooks_of(thing)
            case _, ["survey_spec"] if kind in ("job_templates", "workflow_job_templates"):
                return 200, self._survey(method, thing, body)
            case _, [name] if name in ASSOCIATIONS.get(kind, {}):
                return self._associate(method, (kind, thing["id"], name), body)
        raise Refusal(405, detail=f'Method "{method}" not allowed.')

    def _launch(self, template: Thing, given: Mapping[str, Any]) -> Answer:
        asks = template["ask_variables_on_launch"]
        variables, ignored, wrong = surveys.launch_variables(given, self._survey_of(template), asks)
        if wrong:
            raise Refusal(400, variables_needed_to_start=wrong)
        job = self.start("job_templates", template["name"], status="pending")
        self.run(job, template["playbook"], variables)
        return 201, {**job.view(), "job": job.id, "ignored_fields": {"extra_vars": ignored} if ignored else {}}

    # -- looking ------------------------------------------------------------------------------------------------

    def _all(self, kind: str) -> list[Thing]:
        return list(self.things[kind].values())

    def _one(self, kind: str, number: int) -> Thing:
        if number not in self.things[kind]:
            model = TYPES[kind].title().replace("_", "")
            raise Refusal(404, detail=f"No {model} matches the given query.")
        return self.things[kind][number]

    def _view(self, kind: str, thing: Thing) -> Thing:
        view = copy.deepcopy(thing)
        url = f"{ROOT}{kind}/{thing['id']}/"
        view |= {"type": TYPES[kind], "url": url, "related": {}, "summary_fields": {}}
        if kind == "job_templates":
            project = self.things["projects"].get(thing["project"] or 0)
            view["organization"] = project["organization"] if project else None
            view["related"]["survey_spec"] = f"{url}survey_spec/"
        if kind == "workflow_job_templates":
            view["related"]["survey_spec"] = f"{url}survey_spec/"
        if kind == "inventory_sources":
            view["organization"] = self.things["inventories"][thing["inventory"]]["organization"]
        if kind == "projects":
            view |= self.updates.shown(thing["id"])
            view["related"]["update"] = f"{url}update/"
        if kind == "credentials":
            secret = self._secret_fields(thing)
            view["inputs"] = {
                key: checks.ENCRYPTED if key in secret and value else value for key, value in view["inputs"].items()
            }
        return view

    def _secret_fields(self, credential: Thing) -> set[str]:
        fields = self.things["credential_types"][credential["credential_type"]]["inputs"].get("fields", [])
        return {field["id"] for field in fields if field.get("secret")}

    # -- changing -----------------------------------------------------------------------------------------------

    def _add(self, kind: str, values: Mapping[str, Any]) -> Thing:
        defaults = {name: copy.deepcopy(field.default) for name, field in FIELDS[kind].items()}
        thing = {**defaults, **values, "id": next(self._ids)}
        self.things[kind][thing["id"]] = thing
        return thing

    def _create(self, kind: str, body: Mapping[str, Any]) -> Thing:
        values = self._accepted(kind, body)
        missing = [name for name, field in FIELDS[kind].items() if field.needed and name not in values]
        if missing:
            raise Refusal(400, **{name: ["This field is required."] for name in missing})
        defaults = {name: copy.deepcopy(field.default) for name, field in FIELDS[kind].items()}
        self._check(kind, {**defaults, **values})
        made = self._add(kind, values)
        if kind == "projects":
            self.updates.begin(made)
        return made

    def _change(self, kind: str, thing: Thing, body: Mapping[str, Any]) -> Thing:
        values = self._accepted(kind, body)
        if kind == "credentials" and "inputs" in values:
            # What is sent as it was shown stays as it is.
            values["inputs"] = {
                key: thing["inputs"].get(key) if value == checks.ENCRYPTED else value
                for key, value in values["inputs"].items()
            }
        self._check(kind, {**thing, **values})
        moved = kind == "projects" and any(thing[name] != values.get(name, thing[name]) for name in TRIGGERS)
        thing.update(values)
        if moved:
            self.updates.begin(thing)
        return thing

    def _accepted(self, kind: str, body: Mapping[str, Any]) -> Thing:
        problems: dict[str, list[str]] = {}
        values = {}
        for name, value in body.items():
            field = FIELDS[kind].get(name)
            if field is None:
                problems[name] = ["there is no such field"]
            elif problem := checks.problem_of(value, field):
                problems[name] = [problem]
            elif field.type.startswith("id:") and value is not None and not self._exists(field.type[3:], value):
                problems[name] = [f'Invalid pk "{value}" - object does not exist.']
            elif not field.read_only:
                values[name] = copy.deepcopy(value)
        if problems:
            raise Refusal(400, **problems)
        return values

    def _exists(self, kind: str, number: int) -> bool:
        kinds = UNIFIED if kind == "unified_job_templates" else (kind,)
        return any(number in self.things.get(one, {}) for one in kinds)

    def _check(self, kind: str, thing: Mapping[str, Any]) -> None:
        keys = UNIQUE.get(kind, ())
        for other in self._all(kind):
            if other["id"] != thing.get("id") and all(other.get(key) == thing.get(key) for key in keys):
                raise Refusal(400, __all__=[f"{kind} with this {' and '.join(keys)} already exists."])
        check: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = {
            "credential_types": lambda one: checks.credential_type_problem(one["inputs"], one["injectors"]),
            "credentials": self._credential_problem,
            "inventory_sources": self._source_problem,
            "job_templates": self._template_problem,
            "schedules": self._schedule_problem,
            "workflow_job_template_nodes": lambda one: self._answers_problem(one, required=False),
        }.get(kind)
        if check and (problem := check(thing)):
            raise Refusal(400, **problem)

    def _credential_problem(self, credential: Mapping[str, Any]) -> Mapping[str, Any]:
        credential_type = self.things["credential_types"][credential["credential_type"]]
        problem = checks.credential_problem(credential["inputs"], credential_type)
        return {"inputs": [problem]} if problem else {}

    def _source_problem(self, source: Mapping[str, Any]) -> Mapping[str, Any]:
        if source["source"] is None:
            return {"source": ["This field is required."]}
        if source["source"] == "scm" and not source["source_project"]:
            return {"source_project": ["Project required for scm type sources."]}
        return {}

    def _template_problem(self, template: Mapping[str, Any]) -> Mapping[str, Any]:
        if not template["project"]:
            return {"project": ["This field is required."]}
        if template["playbook"] not in self._playbooks_of(self.things["projects"][template["project"]]):
            return {"playbook": ["Playbook not found for project."]}
        if not template["inventory"] and not template["ask_inventory_on_launch"]:
            return {"inventory": ["Must either set a default value or ask to prompt on launch."]}
        return {}

    def _playbooks_of(self, project: Mapping[str, Any]) -> list[str]:
        return self._playbooks if self.updates.fetched(project["id"]) else []

    def _schedule_problem(self, schedule: Mapping[str, Any]) -> Mapping[str, Any]:
        if problem := rrule_problem(schedule["rrule"]):
            if problem == BUSY:
                raise Refusal(504, detail=problem)
            return {"rrule": [problem]}
        if schedule["unified_job_template"] in self.things["job_templates"]:
            return self._answers_problem(schedule)
        if schedule["unified_job_template"] in self.things["system_job_templates"]:
            days = schedule["extra_data"].get("days", "0")
            return {} if str(days).isdecimal() else {"extra_data": ["days must be a positive integer."]}
        return {"extra_data": ["it takes no variables"]} if schedule["extra_data"] else {}

    def _answers_problem(self, starter: Mapping[str, Any], *, required: bool = True) -> Mapping[str, Any]:
        """What is wrong with the variables of a schedule or a node of a workflow."""
        template = self.things["job_templates"].get(starter["unified_job_template"])
        if template is None:
            return {}
        asks = template["ask_variables_on_launch"]
        return surveys.answers_problem(starter["extra_data"], self._survey_of(template), asks, required)

    def _survey_of(self, template: Mapping[str, Any]) -> Thing | None:
        return self.surveys.get(template["id"]) if template["survey_enabled"] else None

    def _delete_if_free(self, kind: str, thing: Thing) -> Answer:
        if problem := self.jobs.problem(kind, thing):
            raise Refusal(problem[0], **problem[1])
        if kind != "inventories":
            self._delete(kind, thing)
            return 204, None
        if thing["pending_deletion"]:
            raise Refusal(400, error="Inventory is already pending deletion.")
        thing["pending_deletion"] = True
        for template in self._all("job_templates"):
            if template["inventory"] == thing["id"]:
                template["inventory"] = None
        self._leaving[thing["id"]] = LOOKS
        return 202, None

    def _leave(self, kind: str) -> None:
        """Inventories go later, by a task of AWX."""
        for number in [number for number in self._leaving if kind == "inventories"]:
            self._leaving[number] -= 1
            if self._leaving[number] <= 0:
                del self._leaving[number]
                self._delete(kind, self.things[kind][number])

    def _delete(self, kind: str, thing: Thing) -> None:
        number = thing["id"]
        users = [one for one in self._all("credentials") if one["credential_type"] == number]
        if kind == "credential_types" and users:
            raise Refusal(403, detail="Credential types that are in use cannot be deleted.")
        for source in self._all("inventory_sources"):
            if kind == "inventories" and source["inventory"] == number:
                self._delete("inventory_sources", source)
        for node in self._all("workflow_job_template_nodes"):
            if kind == "workflow_job_templates" and node["workflow_job_template"] == number:
                self._delete("workflow_job_template_nodes", node)
        for schedule in self._all("schedules"):
            if kind in UNIFIED and schedule["unified_job_template"] == number:
                self._delete("schedules", schedule)
        for other, fields in FIELDS.items():
            for name, field in fields.items():
                if field.type == f"id:{kind}" and field.null:
                    for one in self._all(other):
                        if one.get(name) == number:
                            one[name] = None
        for (owner, _number, name), items in self._lists.items():
            if ASSOCIATIONS[owner][name] == kind and number in items:
                items.remove(number)
        self.surveys.pop(number, None)
        del self.things[kind][number]

    def _survey(self, method: str, template: Thing, body: Any) -> Any:
        if method == "POST":
            if problem := surveys.survey_problem(body):
                raise Refusal(400, error=problem)
            self.surveys[template["id"]] = copy.deepcopy(body)
            return {}
        if method == "DELETE":
            self.surveys.pop(template["id"], None)
            return {}
        return copy.deepcopy(self.surveys.get(template["id"], {}))

    def _associate(self, method: str, key: tuple[str, int, str], body: Any) -> Answer:
        kind, name = key[0], key[2]
        other = ASSOCIATIONS[kind][name]
        items = self._lists.setdefault(key, [])
        if method == "GET":
            views = [self._view(other, self._one(other, number)) for number in items]
            return 200, page(views, f"{ROOT}{kind}/{key[1]}/{name}/", {})
        thing = self._one(other, body["id"])
        if body.get("disassociate"):
            items.remove(thing["id"])
        elif thing["id"] not in items:
            if other == "credentials" and any(
                self._one(other, one)["credential_type"] == thing["credential_type"] for one in items
            ):
                raise Refusal(400, error="Cannot assign multiple credentials of one type.")
            items.append(thing["id"])
        return 204, None
