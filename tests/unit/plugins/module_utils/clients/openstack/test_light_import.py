# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Only what is used of openstacksdk is imported. Each case is a Python of its own: imports cannot be undone."""

from __future__ import annotations

import os
import subprocess
import sys

LIBRARY = "ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.library"


def run(text: str, *, before: str = "") -> str:
    """What a program prints.

    :param before: comes before the import of the library.
    """
    program = f"import sys, importlib\n{before}\nlibrary = importlib.import_module({LIBRARY!r})\n{text}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_module_of_a_service_is_imported():
    found = run(
        "library.require()\n"
        "library.sdk_config.OpenStackConfig(load_yaml_config=False, load_envvars=False)\n"
        "print([name for name in sys.modules if name.startswith(('openstack.compute', 'openstack.connection'))])"
    )
    assert found.strip() == "[]"


def test_other_code_in_the_same_process_can_use_all_of_it():
    found = run(
        "import openstack\n"
        "from openstack import exceptions, connection\n"
        "assert openstack.config.loader is library.sdk_config and exceptions is library.sdk_exceptions\n"
        "assert openstack.connection is connection and callable(openstack.connect)\n"
        "assert isinstance(openstack.connection.Connection, type) and not hasattr(openstack, 'nothing_like_this')\n"
        "print(type(openstack).__name__)"
    )
    assert found.strip() == "module"


def test_other_code_in_the_same_process_reads_yaml_as_before():
    """An older library changed what yaml.load makes of texts for the whole process."""
    read = (
        "repr((yaml.load('{a: 2026-01-02, b: on, c: 017}', Loader=yaml.SafeLoader), yaml.SafeLoader.yaml_constructors))"
    )
    text = f"import openstack.connection\nlibrary.require()\nprint({read} == first)"
    assert run(text, before=f"import yaml\nfirst = {read}").strip() == "True"
