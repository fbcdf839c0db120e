# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of an image file to another format with qemu-img."""

from __future__ import annotations

import os

from ...model.errors import ImageFileError

QEMU_FORMATS = {"vhd": ("vpc", "subformat=dynamic,force_size=on"), "qcow2": ("qcow2", ""), "raw": ("raw", "")}
"""Name of a format → its name and options in qemu-img. A vhd is dynamic, of exactly the size of its source."""


def conversion(source: str, source_format: str, target: str, target_format: str) -> list[str]:
    """Return the command that converts *source* to a file beside *target*, which :func:`finish` renames to *target*."""
    name, options = QEMU_FORMATS[target_format]
    given = ["-o", options] if options else []
    return ["qemu-img", "convert", "-f", QEMU_FORMATS[source_format][0], "-O", name, *given, source, f"{target}-new"]


def finish(target: str) -> None:
    """Rename the result of the conversion to *target*.

    :raises ImageFileError: the result does not exist, or cannot be renamed.
    """
    try:
        os.replace(f"{target}-new", target)
    except OSError as problem:
        raise ImageFileError(f"{target}: could not be created: {problem.strerror}") from problem
