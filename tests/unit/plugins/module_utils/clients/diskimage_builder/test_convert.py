# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How one image file becomes another."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.convert import (
    conversion,
    finish,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError


def test_a_vhd_is_dynamic_and_as_large_as_its_source():
    assert conversion("/i/x.raw", "raw", "/i/x.vhd", "vhd") == (
        "qemu-img convert -f raw -O vpc -o subformat=dynamic,force_size=on /i/x.raw /i/x.vhd-new".split()
    )


def test_a_vhd_from_qcow2():
    assert conversion("a", "qcow2", "b", "vhd")[2:6] == ["-f", "qcow2", "-O", "vpc"]


def test_what_was_made_gets_its_name_at_the_end(tmp_path):
    path = str(tmp_path / "x.vhd")
    with pytest.raises(ImageFileError, match=r"x\.vhd: could not be created"):
        finish(path)
    (tmp_path / "x.vhd-new").write_text("x")
    finish(path)
    assert (tmp_path / "x.vhd").read_text() == "x"
