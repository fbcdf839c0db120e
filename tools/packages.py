# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs Python packages into the environment that runs it: by uv, which takes a quarter of pip's time, or by pip.

    python tools/packages.py CONSTRAINTS REQUIREMENTS ...

CONSTRAINTS has the version and the hashes of every package, also of those that build others; no other file is
installed. uv does not read pip's configuration (package index, certificates …), so that is handed over to it. Where uv
cannot be had or does not succeed, pip does the work, and what it says counts.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
"""Setting of pip → option of uv; the values of all but the first may be lists, separated by blanks or line ends."""
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
TIMEOUT = 900


def pip_settings(listing: str) -> dict[str, str]:
    """Setting → value, from what ``pip config list`` prints; of several places the environment wins, then install."""
    found: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        name, found_one, value = line.partition("=")
        place, _dot, setting = name.rpartition(".")
        rank = {":env:": 3, "install": 2, "global": 1}.get(place, 0)
        if found_one and rank > found.get(setting, (0, ""))[0]:
            found[setting] = (rank, str(ast.literal_eval(value)))
    return {setting: value for setting, (_rank, value) in found.items()}


def uv_options(settings: dict[str, str]) -> list[str]:
    """The options by which uv looks for packages where pip does."""
    options = ["--index-strategy", "unsafe-best-match"]  # as pip: the best version of any index
    for setting, option in OPTIONS.items():
        for value in settings.get(setting, "").split():
            options += [option, value]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        options.append("--no-index")
    return options


def as_pip() -> tuple[list[str], dict[str, str]]:
    """Options and environment by which uv takes packages from where pip takes them on this machine."""
    listing = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False, timeout=300).stdout
    settings = pip_settings(listing)
    environment = dict(os.environ)
    if "cert" in settings:
        environment.setdefault("SSL_CERT_FILE", settings["cert"])
    return uv_options(settings), environment


def canonical(name: str) -> str:
    """A name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(constraints: str) -> dict[str, str]:
    """Canonical name → its entry, with the version and the hashes, from the text of constraints."""
    entries = re.split(r"\n(?=\S)", constraints)
    return {canonical(entry.partition("==")[0]): entry.rstrip() for entry in entries if re.match(r"[\w.-]+==", entry)}


def names(file: Path) -> list[str]:
    """The packages that a file of requirements names, also in the files that it includes."""
    found = []
    for line in file.read_text("utf-8").splitlines():
        wanted = line.partition("#")[0].strip()
        if wanted.startswith("-r "):
            found += names(file.parent / wanted.removeprefix("-r ").strip())
        elif wanted:
            found.append(re.split(r"[^\w.-]", wanted, maxsplit=1)[0])
    return found


def by_uv(known: dict[str, str], wanted: list[str], constraints: Path, folder: Path) -> bool:
    """Install with uv; False where that did not succeed.

    :param folder: for files of this run.
    """
    own, top = folder / "uv.txt", folder / "wanted.txt"
    own.write_text(known["uv"], encoding="utf-8")
    top.write_text("\n".join(known[canonical(name)] for name in wanted), encoding="utf-8")
    first = [*PIP, "install", "--quiet", "--no-deps", "--require-hashes", "-r", str(own)]
    if subprocess.run(first, check=False, timeout=TIMEOUT).returncode != 0:
        return False
    options, environment = as_pip()
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, "--compile-bytecode"]
    command += [*options, "--require-hashes", "-c", str(constraints), "-b", str(constraints), "-r", str(top)]
    try:
        return subprocess.run(command, env=environment, check=False, timeout=TIMEOUT).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def by_pip(known: dict[str, str], constraints: Path, folder: Path) -> int:
    """Install all of *constraints* with pip, which takes the hashes of a package from requirements only.

    What builds a package gets the versions of *constraints* as well; pip does not check its hashes.
    """
    bounds = folder / "versions.txt"
    versions = (entry.split("\\")[0].split(";")[0].strip() for entry in known.values())
    bounds.write_text("".join(f"{version}\n" for version in versions), encoding="utf-8")
    command = [*PIP, "install", "--progress-bar", "off", "--no-deps", "--require-hashes", "-r", str(constraints)]
    return subprocess.run(command, env={**os.environ, "PIP_CONSTRAINT": str(bounds)}, check=False).returncode


def main() -> int:
    """Install what the requirement files of the command line name."""
    parser = argparse.ArgumentParser(description="Install Python packages by uv, or else by pip.")
    parser.add_argument("constraints", type=Path)
    parser.add_argument("wanted", nargs="+", type=Path, metavar="REQUIREMENTS")
    given = parser.parse_args()
    known = pins(given.constraints.read_text("utf-8"))
    wanted = list(dict.fromkeys(name for file in given.wanted for name in names(file)))
    missing = [name for name in wanted if canonical(name) not in known]
    if missing:
        print(f"{given.constraints} has no {', '.join(missing)}: install it and run make constraints")
        return 1
    with tempfile.TemporaryDirectory(prefix="packages-") as folder:
        if by_uv(known, wanted, given.constraints, Path(folder)):
            return 0
        print("uv did not do it; pip does", flush=True)
        return by_pip(known, given.constraints, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
