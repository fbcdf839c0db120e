# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""pip's configuration is handed over to uv whole."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

from packaging.requirements import Requirement

from tests.support.ansible_run import ROOT
from tools.packages import canonical, names, pins, pip_settings, uv_options


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


def test_every_wanted_package_is_pinned_with_hashes_in_a_version_that_suits():
    known = pins((ROOT / "tests" / "constraints.txt").read_text("utf-8"))
    assert all("--hash=sha256:" in entry for entry in known.values())
    assert {"uv", "setuptools"} <= set(known), "what installs and what builds others"
    for file in (ROOT / "requirements.txt", ROOT / "tests" / "requirements.txt"):
        for name in names(file):
            assert canonical(name) in known
        for line in file.read_text("utf-8").splitlines():
            if line[:1].isalpha():
                wanted = Requirement(line.partition("#")[0])
                version = known[canonical(wanted.name)].partition("==")[2].split()[0]
                assert wanted.specifier.contains(version), line


def test_files_of_requirements_may_include_others(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_text("# nothing\n-r ../y.txt\nPyYAML>=6.0  # why\n", encoding="utf-8")
    (tmp_path / "y.txt").write_text("ruamel.yaml\n\nzope.interface[test]==1;python_version>'3'\n", encoding="utf-8")
    assert names(tmp_path / "a" / "x.txt") == ["ruamel.yaml", "zope.interface", "PyYAML"]


def test_pins_with_their_hashes():
    first = "A_b==1.0 \\\n    --hash=sha256:12 \\\n    --hash=sha256:34"
    second = "c==2 ; python_version < '4' \\\n    --hash=x"
    text = f"# a comment\n{first}\n{second}\n"
    assert pins(text) == {"a-b": first, "c": second}
