# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What libraries log."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.ansible_run import COLLECTIONS

PROGRAM = """
import logging, sys
sys.path.insert(0, {collections!r})
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.quiet import mask_logs
if {listens}:
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
mask_logs()
mask_logs()
logging.getLogger("keystoneauth.identity.generic.base").warning("contacting %s", "http://hans:geheim@cloud/v3")
logging.getLogger("keystoneauth.session").debug("not wanted")
"""


@pytest.mark.parametrize(("listens", "said"), [(True, "contacting http://***@cloud/v3\n"), (False, "")])
def test_a_login_is_never_on_stderr(listens, said):
    program = PROGRAM.format(collections=str(COLLECTIONS), listens=listens)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stderr == said
