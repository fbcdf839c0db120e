# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""asyncssh, imported when the first host key is wanted: it costs a third of a second that few runs need."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from ...model.errors import MissingLibraryError


def require() -> None:
    """See that the library is there, without importing it.

    :raises MissingLibraryError: when it is not.
    """
    if importlib.util.find_spec("asyncssh") is None:
        raise MissingLibraryError("asyncssh")


def asyncssh() -> Any:
    """The library itself."""
    return importlib.import_module("asyncssh")
