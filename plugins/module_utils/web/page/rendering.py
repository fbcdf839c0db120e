# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From rows to HTML. Whatever a cloud or a requestor has written is shown as text, cut, without control characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ...model.lines import span
from ...model.resources import RAM, VOLUME_GB
from ..libraries import Environment, FileSystemLoader, Markup, StrictUndefined
from .troubles import quoted

FOLDER = Path(__file__).parent
NO_FILES = (
    "the page for people is not here: Ansible does not pack its files with a module. Run the module on the controller"
    " with connection local, without become and with the Python of ansible-playbook, and leave nodepool_in_place as it"
    " is; or use the role webapp. The other endpoints work"
)
LONGEST = 1000
"""Characters of a value; longer ones are cut."""
BRIEF = 180
"""Characters of a value in a list."""
ODD = "\N{REPLACEMENT CHARACTER}"
"""Shown for what is not printable: control characters, directions of writing, halves of characters."""
PARTS = 100.0
MIB_PER_GIB = 1024
UNITS = {RAM: "GiB", VOLUME_GB: "GB"}


def shown(value: Any, most: int = LONGEST) -> Any:
    """What is shown of a value; every value of every template goes through it."""
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    told = value if len(value) <= most else value[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    if told.isprintable():
        return told
    return "".join(letter if letter.isprintable() else " " if letter.isspace() else ODD for letter in told)


def brief(value: Any) -> Any:
    """The beginning of a value, for lists."""
    return shown(value, BRIEF)


def number(value: float | None) -> str:
    """``6,000``; a fraction only where there is one."""
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def quantity(value: float, resource: str) -> str:
    """An amount of a resource; ram, which is counted in MiB, in GiB."""
    return number(value / MIB_PER_GIB if resource == RAM else value)


def counted(names: Sequence[str]) -> str:
    """``2 × small, big``."""
    counts = Counter(names).items()
    return ", ".join(name if count == 1 else f"{count} \N{MULTIPLICATION SIGN} {name}" for name, count in counts)


def share(value: float, limit: float) -> float:
    """How much of a limit something is, in percent between 0 and 100. Of no room everything is used."""
    return round(min(PARTS, max(0.0, PARTS * value / limit)), 1) if limit > 0 else PARTS


def moment(at: float) -> str:
    """A UNIX time as ``2026-11-22T20:19:20Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def has_files() -> bool:
    """Whether the templates are on the disk: not where Ansible has packed the module."""
    return (FOLDER / "templates").is_dir()


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        brief=brief, counted=counted, number=number, quantity=quantity, quoted=quoted, span=span, moment=moment
    )
    made.globals.update(share=share, units=UNITS)
    return made


def rendered(template: str, **values: Any) -> str:
    """The text of a template. A lone surrogate cannot be sent, so it is shown as a question mark."""
    text: str = _environment().get_template(template).render(**values)
    return text.encode("utf-8", "replace").decode("utf-8")


@cache
def static(name: str) -> bytes:
    """A file beside the templates."""
    return (FOLDER / "static" / name).read_bytes()
