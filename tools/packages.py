# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs Python packages into the environment that runs it: by uv, which takes a quarter of pip's time, or by pip.

    python tools/packages.py REQUIREMENTS ... [-c CONSTRAINTS]

uv does not read pip's configuration (package index, certificates …), so that is handed over to it. Where uv cannot be
had or does not succeed, pip does the work, and what it says counts.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys

OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "constraint": "--constraints",
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


def by_uv(wanted: list[str], constraints: list[str]) -> bool:
    """Install with uv; False where that did not succeed."""
    bounds = [item for file in constraints for item in ("-c", file)]
    if subprocess.run([*PIP, "install", "--quiet", "uv", *bounds], check=False, timeout=TIMEOUT).returncode != 0:
        return False
    options, environment = as_pip()
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, "--compile-bytecode"]
    command += [*options, *bounds, *(item for file in wanted for item in ("-r", file))]
    try:
        return subprocess.run(command, env=environment, check=False, timeout=TIMEOUT).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main() -> int:
    """Install what the requirement files of the command line name."""
    parser = argparse.ArgumentParser(description="Install Python packages by uv, or else by pip.")
    parser.add_argument("wanted", nargs="+", metavar="REQUIREMENTS")
    parser.add_argument("-c", dest="constraints", action="append", default=[], metavar="CONSTRAINTS")
    given = parser.parse_args()
    if by_uv(given.wanted, given.constraints):
        return 0
    print("uv did not do it; pip does", flush=True)
    files = [item for file in given.wanted for item in ("-r", file)]
    files += [item for file in given.constraints for item in ("-c", file)]
    return subprocess.run([*PIP, "install", "--progress-bar", "off", *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
