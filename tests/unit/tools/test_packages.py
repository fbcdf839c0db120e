# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""pip's configuration is handed over to uv whole."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

from tools.packages import pip_settings, uv_options


def test_what_pip_prints_of_its_configuration_is_understood(tmp_path):
    configuration = tmp_path / "pip.conf"
    configuration.write_text(
        "[global]\nindex-url = https://packages.example.org/simple\n"
        "extra-index-url =\n    https://one.example.org/simple\n    https://two.example.org/simple\n"
        "[install]\nfind-links = /srv/wheels\n",
        encoding="utf-8",
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    environment |= {"PIP_CONFIG_FILE": str(configuration), "PIP_CERT": "/etc/own.crt"}
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    settings = pip_settings(listing)
    assert settings["cert"] == "/etc/own.crt"
    options = uv_options(settings)
    pairs = [*itertools.pairwise(options)]
    assert ("--index-url", "https://packages.example.org/simple") in pairs
    assert ("--extra-index-url", "https://one.example.org/simple") in pairs
    assert ("--extra-index-url", "https://two.example.org/simple") in pairs
    assert ("--find-links", "/srv/wheels") in pairs


def test_the_environment_wins_over_files_and_install_over_global():
    listing = "global.find-links='/a'\ninstall.find-links='/b'\n:env:.index-url='e'\nglobal.index-url='g'\nnonsense\n"
    assert pip_settings(listing) == {"find-links": "/b", "index-url": "e"}


def test_without_settings_uv_chooses_as_pip_does():
    assert uv_options({}) == ["--index-strategy", "unsafe-best-match"]
    assert uv_options({"no-index": "true"})[-1] == "--no-index"
