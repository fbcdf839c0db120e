# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX looks at besides the types of fields: credential types and credentials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
from jinja2 import StrictUndefined, TemplateError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tests.support.awx.fields import Field

ENCRYPTED = "$encrypted$"
NAME = "^[a-zA-Z_]+[a-zA-Z0-9_]*$"
INPUTS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "required": {"type": "array", "items": {"type": "string"}},
        "fields": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "label"],
                "properties": {
                    "id": {"type": "string", "pattern": NAME},
                    "type": {"enum": ["string", "boolean"]},
                    "format": {"enum": ["ssh_private_key", "url"]},
                    "choices": {"type": "array", "minItems": 1, "items": {"type": "string"}, "uniqueItems": True},
                    "label": {"type": "string"},
                    "help_text": {"type": "string"},
                    "multiline": {"type": "boolean"},
                    "secret": {"type": "boolean"},
                    "ask_at_runtime": {"type": "boolean"},
                    "default": {},
                },
            },
        },
    },
}


def _texts(names: str, values: str = "") -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {names: {"type": "string", "pattern": values}},
    }


INJECTORS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "file": _texts(r"^template(\.[a-zA-Z_]+[a-zA-Z0-9_]*)?$"),
        "env": _texts(NAME, "^[\x00-\x7f]*$"),
        "extra_vars": _texts(NAME),
    },
}
FORBIDDEN_ENV = (
    "VIRTUAL_ENV", "PATH", "PYTHONPATH", "JOB_ID", "INVENTORY_ID", "INVENTORY_SOURCE_ID", "AD_HOC_COMMAND_ID",
    "REST_API_URL", "REST_API_TOKEN", "MAX_EVENT_RES", "CALLBACK_QUEUE", "CALLBACK_CONNECTION", "CACHE",
    "JOB_CALLBACK_DEBUG", "INVENTORY_HOSTVARS", "AWX_HOST", "PROJECT_REVISION", "SUPERVISOR_CONFIG_PATH",
)  # fmt: skip


def problem_of(value: Any, field: Field) -> str | None:
    """What is wrong with the value of one field."""
    if value is None:
        return None if field.null else "This field may not be null."
    kind = field.type.split(":")[0]
    expected: Any = {"str": str, "vars": str, "bool": bool, "int": int, "id": int, "dict": dict, "list": list}[kind]
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        return f"Not a valid {kind}: {value!r}"
    if field.choices and value not in field.choices:
        return f'"{value}" is not a valid choice.'
    if value == "" and not field.blank:
        return "This field may not be blank."
    if field.longest and len(value) > field.longest:
        return f"Ensure this field has no more than {field.longest} characters."
    if field.least is not None and value < field.least:
        return f"Ensure this value is greater than or equal to {field.least}."
    if kind == "vars" and value:
        return _vars_problem(value)
    return None


def _vars_problem(value: str) -> str | None:
    try:
        variables = json.loads(value)
    except ValueError:
        return "Cannot parse as JSON."
    return None if isinstance(variables, dict) else "Input is not a mapping."


def credential_type_problem(inputs: Mapping[str, Any], injectors: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a credential type, by field."""
    for name, value, schema in (("inputs", inputs, INPUTS), ("injectors", injectors, INJECTORS)):
        error = next(jsonschema.Draft4Validator(schema).iter_errors(value), None)
        if error is not None:
            return {name: error.message}
    ids = [field["id"] for field in inputs.get("fields", [])]
    if len(ids) != len(set(ids)) or "tower" in ids:
        return {"inputs": "field IDs must be unique, and tower is reserved"}
    if unknown := set(inputs.get("required", [])) - set(ids):
        return {"inputs": f"required names {sorted(unknown)}, which are no fields"}
    for key in injectors.get("env", {}):
        if key.startswith("ANSIBLE_") or key in FORBIDDEN_ENV:
            return {"injectors": f"Environment variable {key} is not allowed to be used in credentials."}
    problem = _injector_problem(ids, injectors)
    return {"injectors": problem} if problem else {}


class _Names(dict[str, str]):
    """Files by their names; they are no text themselves."""

    def __str__(self) -> str:
        raise UndefinedError("Must define unnamed file injector in order to reference `tower.filename`.")


def _injector_problem(ids: list[str], injectors: Mapping[str, Any]) -> str | None:
    files = list(injectors.get("file", {}))
    if "template" in files and len(files) > 1:
        return "Must use multi-file syntax when injecting multiple files"
    names: Any = "EXAMPLE" if "template" in files else _Names({file.split(".")[1]: "EXAMPLE" for file in files})
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    known = dict.fromkeys(ids, "EXAMPLE")
    for kind, entries in injectors.items():
        # A file may not name another file: AWX writes them in an order of its own.
        namespace = known if kind == "file" else {**known, "tower": {"filename": names}}
        for key, template in entries.items():
            try:
                environment.from_string(template).render(**namespace)
            except TemplateError as error:
                return f"{key} uses an undefined field ({error})"
    return None


def credential_problem(inputs: Mapping[str, Any], credential_type: Mapping[str, Any]) -> str | None:
    """What is wrong with the inputs of a credential."""
    fields = {field["id"]: field for field in credential_type["inputs"].get("fields", [])}
    for key, value in inputs.items():
        if key not in fields:
            return f"Additional properties are not allowed ('{key}' was unexpected)"
        if not isinstance(value, bool if fields[key].get("type") == "boolean" else str):
            return f"{key}: {value!r} is not of type {fields[key].get('type')}"
    missing = [key for key in credential_type["inputs"].get("required", []) if not inputs.get(key)]
    return f"required for {credential_type['name']}: {missing}" if missing else None
