# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the libraries that the roles install, each in the version that the checks were last run with.

``make constraints`` does it, or ``python -m tools.role_requirements``; a unit test notices when it was forgotten.
"""

from __future__ import annotations

from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

from tools.packages import canonical, pins

ROOT = Path(__file__).resolve().parent.parent
FILES = ROOT / "roles" / "_runner_loop" / "files"
WANTED = ("ansible-core", "ansible-runner", "asyncssh", "jsonschema", "kazoo", "openstacksdk", "PyYAML", "statsd")
BUILDER = ("diskimage-builder",)
WEBAPP = ("prometheus_client", "waitress", "Werkzeug")
HEADER = """\
# SPDX-FileCopyrightText: 2026 The stackci.nodepool contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# What the roles launcher, builder and webapp install, in the versions that the checks were last run with.
# Written by tools/role_requirements.py.
"""


def pinned() -> dict[str, str]:
    """Canonical name → its version as in tests/constraints.txt, without hashes: roles may use a mirror's own files."""
    known = pins((ROOT / "tests" / "constraints.txt").read_text("utf-8"))
    return {name: entry.partition("\\")[0].strip() for name, entry in known.items()}


def needed(names: tuple[str, ...]) -> set[str]:
    """Canonical names of all that is needed, on this version of Python."""
    found: set[str] = set()
    waiting = [canonical(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for line in requires(name) or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(canonical(requirement.name))
    return found


def texts() -> dict[str, str]:
    """Name of a file → its content. The builder and the web service install the first one and their own."""
    known, both = pinned(), needed(WANTED)
    chosen = {
        "requirements.txt": both,
        "builder.txt": needed(BUILDER) - both,
        "webapp.txt": needed(WEBAPP) - both,
    }
    return {file: HEADER + "".join(f"{known[name]}\n" for name in sorted(names)) for file, names in chosen.items()}


if __name__ == "__main__":
    for file, content in texts().items():
        (FILES / file).write_text(content, encoding="utf-8")
