# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a command is made of: the function that it calls, its options, and the table that shows its result.

Nothing here imports the functions themselves, so ``--help`` and completion do not load them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Work:
    """A function of a module and its argument spec, by their names in :mod:`module_utils.runtime`.

    :ivar file: the file below ``runtime``.
    :ivar rules: the name of further arguments of AnsibleModule; "" for none.
    """

    file: str
    function: str
    spec: str
    rules: str = ""


@dataclass(frozen=True)
class Option:
    """An option or a positional argument. Its *name* is the module's option of the same name.

    :ivar flags: ``-x`` and ``--xxx``; empty for a positional argument.
    :ivar keywords: further arguments of ``add_argument``.
    :ivar completes: which names complete it: ``node``, ``lease``, ``request`` or ``image``.
    """

    name: str
    flags: tuple[str, ...]
    help: str
    keywords: Mapping[str, Any] = field(default_factory=dict)
    completes: str = ""


@dataclass(frozen=True)
class Column:
    """A column: the key of a row, its title, and how its values are shown (see :mod:`.tables`).

    :ivar optional: it is left out where no row has a value.
    """

    key: str
    title: str
    form: str = "plain"
    optional: bool = False


@dataclass(frozen=True)
class Table:
    """The rows of a result.

    :ivar rows: the key of the rows in the result.
    :ivar wide: further columns with ``--detail``.
    """

    rows: str
    columns: tuple[Column, ...]
    wide: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Command:
    """One verb.

    :ivar work: what it calls; None for a command that does something else (see :mod:`.verbs`).
    :ivar fixed: options of the module that the verb stands for.
    :ivar said: what is printed without a table: when something was changed, and when nothing was.
    :ivar examples: lines for the end of ``--help``.
    """

    name: str
    help: str
    work: Work | None
    options: tuple[Option, ...] = ()
    table: Table | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str = ""
    said: tuple[str, str] = ("", "")
