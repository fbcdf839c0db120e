# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in an image: its kernel and packages, as a node reports them, and what differs between two. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .stored import BadDocument, Stored

COMMAND = (
    "echo \"kernel $(uname -r)\"; dpkg-query -W -f '${Package} ${Version}\\n' 2>/dev/null"
    " || rpm -qa --qf '%{NAME} %{VERSION}-%{RELEASE}\\n' 2>/dev/null"
    " || apk list -I 2>/dev/null | sed 's/-\\([0-9][^ ]*\\) .*/ \\1/'"
)
"""Shell command whose output :meth:`ImageContents.from_output` reads: no Python is needed on the node."""
MOST_PACKAGES = 20_000
MOST_NAMED = 5
"""Most packages of a kind that a sentence names."""
_NAME, _VERSION = re.compile(r"[\w.+~-]{1,200}"), re.compile(r"[\w.+:~^-]{1,200}")
_KERNEL = re.compile(r"linux-image-(?:unsigned-)?(\d[\w.+~-]*)")
"""The package of a kernel in Debian and Ubuntu, with what ``uname -r`` says when it runs."""
_PARTS = re.compile(r"\d+|[A-Za-z]+|~|[^\dA-Za-z~]+")


def _packages(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
        raise BadDocument("'packages' is not an object of texts")
    return dict(value)


@dataclass(frozen=True)
class ImageContents(Stored):
    """The kernel and the packages of an image: name → version."""

    READERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"packages": _packages}

    kernel: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_output(cls, output: str) -> ImageContents | None:
        """Read the output of :data:`COMMAND`; None if the node has not reported its kernel."""
        kernel, packages = "", {}
        for line in output.splitlines()[: MOST_PACKAGES + 1]:
            words = line.split()
            if len(words) != 2 or not _NAME.fullmatch(words[0]) or not _VERSION.fullmatch(words[1]):
                continue
            if not kernel and words[0] == "kernel":
                kernel = words[1]
            else:
                packages[words[0]] = words[1]
        return cls(kernel, packages) if kernel else None

    @classmethod
    def from_manifest(cls, document: object) -> ImageContents | None:
        """Read the manifest of diskimage-builder's element ``dpkg``; None if it names no package.

        The kernel is the newest that is installed; "" if there is none, or it has another name.
        """
        rows = document.get("packages") if isinstance(document, dict) else None
        packages: dict[str, str] = {}
        for row in rows[:MOST_PACKAGES] if isinstance(rows, list) else ():
            found = [row.get(key) for key in ("package", "version", "status")] if isinstance(row, dict) else []
            name, version, status = (word if isinstance(word, str) else "" for word in found or ("", "", ""))
            name = name.partition(":")[0]  # the architecture, which some have
            if _NAME.fullmatch(name) and _VERSION.fullmatch(version) and status[1:2] == "i":
                packages[name] = version
        kernels = [match[1] for name in packages if (match := _KERNEL.fullmatch(name))]
        return cls(max(kernels, key=_order, default=""), packages) if packages else None


def changes(before: ImageContents, after: ImageContents) -> str:
    """Return what has changed as a part of a sentence: the kernel, and packages that are new, gone, newer or older."""
    old, new = before.packages, after.packages
    both = sorted(name for name in old if name in new and old[name] != new[name])
    newer = [name for name in both if _order(new[name]) > _order(old[name])]
    known = before.kernel and after.kernel
    parts = [f"kernel {before.kernel} became {after.kernel}"] if known and before.kernel != after.kernel else []
    kinds = (
        ("added", sorted(set(new) - set(old)), new),
        ("removed", sorted(set(old) - set(new)), old),
        ("newer", newer, new),
        ("older", [name for name in both if name not in newer], new),
    )
    parts += [_told(what, names, versions) for what, names, versions in kinds if names]
    return "; ".join(parts) or ("the same kernel and packages" if known else "the same packages")


def _told(what: str, names: Sequence[str], versions: Mapping[str, str]) -> str:
    shown = [f"{name} {versions[name]}" for name in names[:MOST_NAMED]]
    rest = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{len(names)} {what}: {', '.join(shown)}{rest}"


def _order(version: str) -> list[tuple[int, int, str]]:
    """Return a key by which versions are compared: numbers by their value, ``~`` before the end, as in dpkg and rpm."""
    epoch, colon, _rest = version.partition(":")
    full = version if colon and epoch.isdigit() else f"0:{version}"
    parts = [
        (2, int(part), "") if part.isdigit() else (-1, 0, "") if part == "~" else (1, 0, part)
        for part in _PARTS.findall(full)
    ]
    return [*parts, (0, 0, "")]
