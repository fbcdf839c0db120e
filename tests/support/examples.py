# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of the documentation: of each plugin, in docs, and in the README files."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(path for path in sorted((ROOT / "roles").glob("*/README.md")) if not path.parent.name.startswith("_")),
)
PREFIX = "stackci.nodepool."


@dataclass(frozen=True)
class Example:
    """A piece of YAML: a list of plays or tasks, or a dictionary.

    :ivar where: the file that has it.
    """

    where: str
    content: Any

    @property
    def plays(self) -> list[dict[str, Any]]:
        """The plays of a playbook."""
        items = self.content if isinstance(self.content, list) else []
        return [item for item in items if "hosts" in item]

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The tasks, on their own or in plays."""
        items = self.content if isinstance(self.content, list) else []
        return [
            task for item in items for task in (item.get("tasks", []) if "hosts" in item else [item]) if "name" in task
        ]


def of_plugins() -> Iterator[Example]:
    """The block EXAMPLES of each module and of the inventory plugin."""
    for path in (*sorted((ROOT / "plugins" / "modules").glob("*.py")), ROOT / "plugins" / "inventory" / "nodepool.py"):
        block = re.search(r'^EXAMPLES = r"""\n(.*?)"""', path.read_text("utf-8"), re.S | re.M)
        assert block is not None, f"{path.name} has no examples"
        # Further files stand in comments, after an empty one: ansible-test wants one document.
        further = [re.sub("^# ?", "", text, flags=re.M) for text in re.findall(r"^#\n((?:# .*\n)+)", block[1], re.M)]
        for text in (block[1], *further):
            yield Example(str(path.relative_to(ROOT)), yaml.safe_load(text))


def of_pages() -> Iterator[Example]:
    """The blocks of YAML in the pages."""
    for path in PAGES:
        for text in blocks(path, "yaml"):
            for content in yaml.safe_load_all(text):
                yield Example(str(path.relative_to(ROOT)), content)


def commands() -> Iterator[tuple[str, str]]:
    """The lines of the shell in the pages, each with its page; continued lines are one."""
    for path in PAGES:
        for text in blocks(path, "shell"):
            for line in text.replace("\\\n", " ").splitlines():
                if line.strip() and not line.lstrip().startswith("#"):
                    yield str(path.relative_to(ROOT)), line.strip()


def lines_of(page: str) -> list[str]:
    """The lines of the shell in one page, in its order; continued lines are one.

    :param page: the page's path below the checkout.
    """
    return [line for path, line in commands() if path == page]


def blocks(path: Path, kind: str) -> Iterator[str]:
    """The fenced blocks of this kind in a page."""
    pattern = rf"^( *)```{kind}\n(.*?)^\1```"
    for block in re.finditer(pattern, path.read_text("utf-8"), re.S | re.M):
        yield textwrap.dedent(block[2])
