# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates plain data against a JSON Schema with jsonschema."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

try:
    import jsonschema
except ImportError:
    HAS_JSONSCHEMA = False
    JSONSCHEMA_IMPORT_ERROR: str | None = traceback.format_exc()
else:
    HAS_JSONSCHEMA = True
    JSONSCHEMA_IMPORT_ERROR = None

from ...model.config.messages import problems_of
from ...model.config.problems import Problem, Source
from ...model.errors import MissingLibraryError


def validate(source: Source, schema: Mapping[str, Any]) -> list[Problem]:
    """Every problem that *schema* finds.

    :raises MissingLibraryError: jsonschema is not installed.
    """
    if not HAS_JSONSCHEMA:
        raise MissingLibraryError("jsonschema", JSONSCHEMA_IMPORT_ERROR)
    validator = jsonschema.Draft202012Validator(schema)
    return problems_of(validator.iter_errors(source.data), source)
