# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check whether a configuration file can be used, before it replaces the one in use.

``python -m …plugin_utils.loop.validate --nodepool|--secure|--settings|--clouds FILE [--folder DIR]``

With ``--folder`` the other files are read from that folder. ``--without-settings`` leaves nodepool-settings.yaml out:
for a nodepool.yaml to which a new one belongs that is written next. When the file cannot be used the exit code is 1,
with a line for each problem. Values are never shown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import load_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.clouds import load_cloud_entry
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.text_file import read_text
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.yaml_document import read_yaml
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError, NodepoolError

MAIN, SECURE, SETTINGS = "nodepool.yaml", "secure.conf", "nodepool-settings.yaml"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one file; return the exit code."""
    parser = argparse.ArgumentParser(prog="validate", description="Says whether a configuration file can be used.")
    chosen = parser.add_mutually_exclusive_group(required=True)
    for kind in ("nodepool", "secure", "settings", "clouds"):
        chosen.add_argument(f"--{kind}", metavar="FILE")
    parser.add_argument("--folder", type=Path, help="where the others are")
    parser.add_argument("--without-settings", action="store_true", help="do not read nodepool-settings.yaml")
    options = parser.parse_args(arguments)
    try:
        if options.clouds:
            _check_clouds(options.clouds)
        else:
            _load(options)
    except ConfigError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        for warning in error.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        return 1
    except NodepoolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _load(options: argparse.Namespace) -> None:
    main_file, secure_file, settings_file, folder = options.nodepool, options.secure, options.settings, options.folder
    if folder is not None:
        main_file = main_file or _there(folder / MAIN)
        secure_file = secure_file or _there(folder / SECURE)
        settings_file = settings_file or (None if options.without_settings else _there(folder / SETTINGS))
    if main_file is not None:
        load_config(main_file, secure_file, settings_file)


def _check_clouds(path: str) -> None:
    """Check every entry of clouds.yaml, as far as that is possible without a call to the cloud.

    :raises NodepoolError: when there is a problem; it has the first one.
    """
    document = read_yaml(read_text(path, time.sleep), secret=True)
    if document.problems:
        raise ConfigError([f"{path}:{problem.line or 1}: {problem.message}" for problem in document.problems])
    clouds = document.data.get("clouds") if isinstance(document.data, dict) else None
    if not isinstance(clouds, dict) or not clouds:
        raise ConfigError([f"{path}: it has no cloud: write entries below the key 'clouds'"])
    for name in clouds:
        try:
            load_cloud_entry("(any)", str(name), None, path)
        except NodepoolError:
            raise
        except Exception as error:  # the SDK fails on values of unexpected types, and its text may show values
            raise ConfigError([f"{path}: entry {name!r} cannot be read: {type(error).__name__}"]) from error


def _there(path: Path) -> str | None:
    return str(path) if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
