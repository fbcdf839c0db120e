# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schema that editors read is the one that the loader uses."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config import types
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.messages import _RULES
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.options import keys_of as keys_of_section
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.schema import (
    NODEPOOL_SCHEMA,
    SECURE_SCHEMA,
)
from tests.config_docs.rendering import editor_schema, own_editor_schema, rendered_files, tables
from tests.support.config_texts import changed, keys_of, valid_document


@pytest.mark.parametrize(("path", "text"), rendered_files().items(), ids=lambda value: getattr(value, "name", ""))
def test_what_is_written_from_the_options_is_up_to_date(path, text):
    assert path.read_text(encoding="utf-8") == text, "run: .venv/bin/python -m tests.config_docs"


@pytest.mark.parametrize("schema", [NODEPOOL_SCHEMA, SECURE_SCHEMA, editor_schema(), own_editor_schema()])
def test_the_schemas_are_schemas(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_schema_alone_accepts_and_refuses():
    validator = jsonschema.Draft202012Validator(editor_schema())
    assert validator.is_valid(valid_document())
    assert not validator.is_valid(changed(("labels", 0, "name"), ...))
    assert not validator.is_valid(changed(("providers", 0, "pools", 0, "labels", 0, "min-ram"), ...))


def sections(cls: type) -> set[type]:
    """The sections that a file may have in a section of that class."""
    inner = [option.part for option in keys_of_section(cls) if option.part is not None]
    return {*inner}.union(*map(sections, inner))


def test_the_manual_has_a_table_of_each_section():
    assert {"Label", "PoolLabel"} <= set(tables())
    assert set(tables()) == {
        "NodepoolConfig",
        "LaunchSettings",
        *(cls.__name__ for cls in sections(types.NodepoolConfig)),
    }
    assert {"labels", "host", "cert"} <= keys_of(NODEPOOL_SCHEMA)


def rules_without_words(schema: Any, path: str = "") -> list[str]:
    """Places with a rule that a person cannot read and no ``errorMessage`` beside it."""
    if isinstance(schema, list):
        return [place for index, item in enumerate(schema) for place in rules_without_words(item, f"{path}[{index}]")]
    if not isinstance(schema, dict):
        return []
    found = [path] if set(schema) & set(_RULES) and "errorMessage" not in schema else []
    inner = {key: value for key, value in schema.items() if not (key in _RULES and "errorMessage" in schema)}
    return found + [place for key, value in inner.items() for place in rules_without_words(value, f"{path}.{key}")]


def test_each_rule_that_a_person_cannot_read_has_words():
    assert rules_without_words(NODEPOOL_SCHEMA) == []
    assert rules_without_words({"a": {"oneOf": [{}]}}) == [".a"]
