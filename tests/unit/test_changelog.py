# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fragments of the changelog are what it shows well: reStructuredText, not the markup of plugin documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FRAGMENTS = sorted((ROOT / "changelogs" / "fragments").glob("*.yml"))
MARKUP = re.compile(r"\b(?:RV|[BCEILMOPRUV])\([^)]*\)")
"""Shown as it stands: the changelog is no plugin documentation."""
SINGLE = re.compile(r"(?<!`)`[^`]+`(?!`)")
"""Emphasis in reStructuredText, where Markdown means code."""


def sentences(content: object) -> Iterator[str]:
    """All texts of a fragment."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for part in content.values():
            yield from sentences(part)
    elif isinstance(content, list):
        for part in content:
            yield from sentences(part)


def test_no_fragment_has_markup_that_the_changelog_does_not_know():
    wrong = []
    for path in FRAGMENTS:
        for text in sentences(yaml.safe_load(path.read_text("utf-8"))):
            wrong += [f"{path.name}: {found} has to be ``…``" for found in MARKUP.findall(text) + SINGLE.findall(text)]
    assert wrong == []
