# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Render rows as HTML. Text from a cloud or a requestor is escaped, cut, and shown without control characters."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ...launching.call_shares import flaps
from ...model.bounded_text import printable
from ...model.foreign import moment as showable
from ...model.lines import failed, span, word_for
from ...model.resources import RAM, VOLUME_GB
from ..libraries import Environment, FileSystemLoader, Markup, StrictUndefined
from .troubles import MANUAL, quoted

FOLDER = Path(__file__).parent
SOURCE = "NODEPOOL_SOURCE"
"""Environment variable with the folder of the plugins on this machine, from the action plugin."""
NO_FILES = (
    "the web page is not available: Ansible does not pack its files with a module. Run the module on the"
    " controller with connection local, as a user who may read the installed collection; or use the role webapp."
    " The other endpoints work"
)
LONGEST = 1000
"""Most characters of a value; longer values are cut."""
BRIEF = 180
"""Most characters of a value in a list."""
PARTS = 100.0
MIB_PER_GIB = 1024
UNITS = {RAM: "GiB", VOLUME_GB: "GB"}


def shown(value: Any, most: int = LONGEST) -> Any:
    """Return what is shown of a value; every value in every template passes through this function."""
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return printable(value if len(value) <= most else value[: most - 1] + "\N{HORIZONTAL ELLIPSIS}")


def brief(value: Any) -> Any:
    """Return the beginning of a value, for lists."""
    return shown(value, BRIEF)


def number(value: float | None) -> str:
    """Return ``6,000``; with a fraction only when there is one."""
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def amount(value: float, noun: str) -> str:
    """Return a number with its noun: ``1 node``, ``6,000 nodes``."""
    return f"{number(value)} {word_for(value, noun)}"


def quantity(value: float, resource: str) -> str:
    """Return an amount of a resource as text; ram is converted from MiB to GiB."""
    return number(value / MIB_PER_GIB if resource == RAM else value)


def counted(names: Sequence[str]) -> str:
    """Return ``2 × small, big``."""
    counts = Counter(names).items()
    return ", ".join(name if count == 1 else f"{count} \N{MULTIPLICATION SIGN} {name}" for name, count in counts)


def share(value: float, limit: float) -> float:
    """Return *value* as a percentage of *limit*, between 0 and 100; 100 when the limit is 0."""
    return round(min(PARTS, max(0.0, PARTS * value / limit)), 1) if limit > 0 else PARTS


def percent(part: float, whole: float) -> str:
    """Return ``12 %``; ``<1 %`` for less than a half percent that is not nothing."""
    found = round(PARTS * part / whole) if whole > 0 else 0
    return f"{found} %" if found or not part else "<1 %"


def moment(at: float) -> str:
    """Return a UNIX time as ``2026-11-22T20:19:20Z``; a time beyond the years 1 to 9999 as the nearest one in them.

    Documents of others may have any number as a time.
    """
    return datetime.fromtimestamp(showable(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def files() -> Path:
    """Return the folder of the templates and static files.

    It is beside this file, unless Ansible has packed the module; then it is in the collection that SOURCE names.
    """
    source = os.environ.get(SOURCE, "")
    if os.path.isdir(FOLDER / "templates") or not os.path.isabs(source):
        return FOLDER
    return Path(source, "module_utils", "web", "page")


def has_files() -> bool:
    """True when the templates are on the disk, where this user can read them."""
    return os.path.isdir(files() / "templates") and os.access(files() / "templates", os.R_OK | os.X_OK)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(files() / "templates"),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        amount=amount,
        brief=brief,
        counted=counted,
        failed=failed,
        moment=moment,
        number=number,
        percent=percent,
        quantity=quantity,
        quoted=quoted,
        span=span,
    )
    made.globals.update(share=share, units=UNITS, flaps=flaps, manual=MANUAL)
    return made


def rendered(template: str, **values: Any) -> str:
    """Render a template. A lone surrogate cannot be sent, so it is shown as a question mark."""
    text: str = _environment().get_template(template).render(**values)
    return text.encode("utf-8", "replace").decode("utf-8")


@cache
def static(name: str) -> bytes:
    """Return the content of a file in the folder ``static``."""
    return (files() / "static" / name).read_bytes()
