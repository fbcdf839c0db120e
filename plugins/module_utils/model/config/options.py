# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an option of a configuration file is declared: one line at its attribute in :mod:`types`.

That line is the only place that knows the option's kind, its bounds, its default, the files that may have it, what it
is inherited from, and what it means. From it come

* the JSON Schema of each file, and with it all errors of type, range and name (:mod:`schema`);
* the value in force, with default and inheritance (:mod:`build`, :mod:`inheritance`);
* the origin of that value (:mod:`..reporting.info.config`);
* the tables of ``docs/configuration.md`` and ``docs/nodepool.schema.json``.

The key in the file is the attribute's name with hyphens unless *key* says otherwise. A key without a value counts as
absent, so each optional type also allows ``null``. ``errorMessage`` is the sentence for a rule for which JSON Schema
has no readable text; ``x-unit`` names the unit of a number. :mod:`messages` reads both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Schema = dict[str, Any]
Raw = Mapping[str, Any]
Kind = TypeVar("Kind", bound=type)

NODEPOOL, SECURE, SETTINGS = "nodepool.yaml", "secure.conf", "nodepool-settings.yaml"
"""The files that an option may be in."""

PARENT, PARENT_OR_FALSE = "parent", "parent, or false"
"""*inherits* of a diskimage's option: its value replaces the parent's unless it is empty, 0 or false; also if false."""
APPENDED, MERGED = "appended to the parent's", "laid over the parent's"
POOL, PROVIDER = "pool", "provider"
"""*inherits* of an option that has the value of a section around its own when it has none itself."""
LABEL, LABEL_OR_PROVIDER = "label", "label's, or the provider"
"""*inherits* of an option of a pool's label: it has the value of the label at the top of the file. If that has none
either, the provider's present value counts where the option is used."""
ABOVE = (POOL, PROVIDER, LABEL, LABEL_OR_PROVIDER)
UPPER = {POOL: (POOL,), PROVIDER: (PROVIDER,), LABEL: (LABEL,), LABEL_OR_PROVIDER: (LABEL, PROVIDER)}
"""*inherits* → the kinds of sections to look at, in this order."""

MOST_SECONDS = 10**9
MOST = 10**12
LONGEST_NAME = 255
"""Most characters of the names that each server carries: nova's limit for a value of metadata."""

OPTION = "option"
"""Where the metadata of an attribute has its :class:`Option`."""


@dataclass(frozen=True)
class Option:
    """An option.

    :ivar schema: what JSON Schema says of its value without a default; None for an attribute that has no key.
    :ivar inherits: what it has without a value of its own: one of the constants above; "" for its default.
    :ivar private: its content may be secret and is never shown.
    :ivar shown: its default as the manual shows it; "" for the default itself.
    :ivar read: makes the value in force of a value in the file.
    :ivar derive: makes the value in force of the whole entry, when the option has no value there.
    :ivar part: the section that is the option's value.
    :ivar many: the value is a list of such sections.
    :ivar joined: the keys of *part* are written beside the option's own place, not below a key of its own.
    """

    key: str
    schema: Schema | None
    default: Any
    required: bool = False
    inherits: str = ""
    files: tuple[str, ...] = (NODEPOOL,)
    private: bool = False
    shown: str = ""
    read: Callable[[Any], Any] | None = None
    derive: Callable[[Raw], Any] | None = None
    part: type | None = None
    many: bool = False
    joined: bool = False


@dataclass(frozen=True)
class Section:
    """A kind of entry.

    :ivar kind: its name where the origin of a value is shown.
    :ivar options: the options that have an attribute, by its name.
    :ivar alone: further keys, which have no attribute.
    :ivar rules: what else JSON Schema says of the whole entry.
    :ivar wrap: makes the schema of the section of the one of its options.
    """

    kind: str
    meaning: str
    options: Mapping[str, Option]
    alone: Mapping[str, Option]
    rules: Schema
    wrap: Callable[[Schema], Schema]


_SECTIONS: dict[type, Section] = {}


def section(
    kind: str,
    meaning: str,
    *,
    alone: Mapping[str, Any] | None = None,
    rules: Schema | None = None,
    wrap: Callable[[Schema], Schema] = lambda schema: schema,
) -> Callable[[Kind], Kind]:
    """Return a decorator for the dataclass of a section; the arguments are those of :class:`Section`."""
    keys = {key: dataclasses.replace(_option(declared), key=key) for key, declared in (alone or {}).items()}

    def decorate(cls: Kind) -> Kind:
        declared = {item.name: option for item in dataclasses.fields(cls) if (option := item.metadata.get(OPTION))}
        options = {
            name: dataclasses.replace(option, key=option.key or name.replace("_", "-"))
            for name, option in declared.items()
        }
        _SECTIONS[cls] = Section(kind, meaning, options, keys, rules or {}, wrap)
        return cls

    return decorate


def section_of(cls: type) -> Section:
    """Return what was declared for a section."""
    return _SECTIONS[cls]


def options_of(cls: type) -> Mapping[str, Option]:
    """Return the options of a section that have an attribute, by its name."""
    return _SECTIONS[cls].options


def keys_of(cls: type, file: str | None = None) -> Iterator[Option]:
    """Yield the options of a section as they are written, the required ones first.

    :param file: leave out those that this file cannot have.
    """
    own = options_of(cls).values()
    all_keys = [key for one in own for key in (keys_of(one.part) if one.part and one.joined else [one])]
    written = [one for one in all_keys if one.schema is not None]
    needed = [one for one in written if one.required]
    others = [one for one in written if not one.required]
    for option in (*needed, *section_of(cls).alone.values(), *others):
        if file is None or file in option.files:
            yield option


def private_keys(cls: type) -> frozenset[str]:
    """Return the keys of a section, and of those below it, whose content is never shown."""
    found = {option.key for option in keys_of(cls) if option.private}
    return frozenset(found).union(*(private_keys(one.part) for one in keys_of(cls) if one.part is not None))


def _option(declared: Any) -> Option:
    option: Option = declared.metadata[OPTION]
    return option
