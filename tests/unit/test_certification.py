# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What certified collections have to have, as far as it is public and no other lane looks at it.

The rules are those of https://github.com/ansible-collections/partner-certification-checker, of
https://docs.ansible.com/projects/partner-certification-requirements/, and of the README template that both name.
The lanes ``importer``, ``ansible-lint`` (profile production), ``sanity`` and ``test-sanity`` have the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tools.version import version

ROOT = Path(__file__).resolve().parents[2]
GALAXY = yaml.safe_load((ROOT / "galaxy.yml").read_text("utf-8"))
SECTIONS = [
    "Description", "Requirements", "Installation", "Use Cases", "Testing", "Contributing", "Support", "Release Notes",
    "Related Information", "License Information",
]  # fmt: skip
"""Of the README, in this order; a title may go on after these words."""
WANTED = sorted({ROOT / "requirements.txt", *(ROOT / "execution_environments").rglob("*requirements.txt")})


def test_the_readme_has_the_sections_that_are_asked_for():
    titles = re.findall(r"^## (.*)$", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert [word for word in SECTIONS if not any(title.startswith(word) for title in titles)] == []
    found = [next(title for title in titles if title.startswith(word)) for word in SECTIONS]
    assert found == sorted(found, key=titles.index)


@pytest.mark.parametrize("path", WANTED, ids=lambda path: str(path.relative_to(ROOT)))
def test_libraries_have_a_lower_bound_or_none_and_are_never_fixed(path):
    lines = [line.split("#")[0].strip() for line in path.read_text("utf-8").splitlines()]
    found = [Requirement(line) for line in lines if line]
    assert found
    fixed = [str(each) for each in found if any(part.operator in ("==", "===", "~=") for part in each.specifier)]
    assert fixed == []
    assert [str(each) for each in found if each.name.lower() in ("ansible", "ansible-core")] == []


def test_the_oldest_core_is_one_that_can_be_certified():
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text("utf-8"))
    floor = SpecifierSet(runtime["requires_ansible"])
    assert "2.15.99" not in floor and "2.16.0" in floor and "2.18.0" in floor and "2.20.0" in floor


def test_the_version_is_a_release_and_no_collection_is_needed_that_is_not_certified():
    assert int(version().split(".")[0]) >= 1
    assert GALAXY["dependencies"] == {}
    assert {"repository", "documentation", "homepage", "issues", "description", "license", "authors"} <= set(GALAXY)


def test_the_changelog_has_the_version_or_is_about_to():
    releases = yaml.safe_load((ROOT / "changelogs" / "changelog.yaml").read_text("utf-8"))["releases"]
    about_to = ROOT / "changelogs" / "fragments" / f"{version()}.yml"
    if version() in releases:
        assert f"v{version()}".replace(".", "\\.") in (ROOT / "CHANGELOG.md").read_text("utf-8")
    else:
        assert "release_summary" in yaml.safe_load(about_to.read_text("utf-8"))


def keys(returned: dict[str, dict[str, Any]] | None) -> Iterator[str]:
    """The keys of documented return values, at all depths."""
    for name, value in (returned or {}).items():
        yield name
        yield from keys(value.get("contains"))


@pytest.mark.parametrize("path", sorted((ROOT / "plugins" / "modules").glob("*.py")), ids=lambda path: path.stem)
def test_no_return_value_has_the_name_of_a_method_of_dictionaries(path):
    """``plan.clear`` in a template is the method; ansible-test knows that since 2.21."""
    texts = [
        ast.literal_eval(node.value)
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "RETURN"
    ]
    assert [name for text in texts for name in keys(yaml.safe_load(text)) if hasattr(dict, name)] == []


def test_no_sanity_test_is_ignored():
    ignored = [path for path in (ROOT / "tests").glob("sanity/ignore-*.txt") if path.read_text("utf-8").strip()]
    assert ignored == []


def test_of_ansible_lint_only_names_are_ignored():
    """Others may not be, or ought to be corrected."""
    lines = [line.split("#")[0].split() for line in (ROOT / ".ansible-lint-ignore").read_text("utf-8").splitlines()]
    assert {words[1].partition("[")[0] for words in lines if words} <= {"role-name", "var-naming"}
    settings = yaml.safe_load((ROOT / ".ansible-lint").read_text("utf-8"))
    assert settings["profile"] == "production" and not {"skip_list", "warn_list"} & set(settings)
