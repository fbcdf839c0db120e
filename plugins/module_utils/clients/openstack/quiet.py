# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes logins from what the libraries log."""

from __future__ import annotations

import logging

from .faults import clean

LOGGERS = ("keystoneauth", "openstack", "urllib3", "requests")


class Masking(logging.Handler):
    """Takes what a library logs and passes it on, without secrets, to the handlers of the root logger.

    Where there is none nothing is shown: Python's last resort would write warnings to stderr as they are.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Pass it on."""
        root = logging.getLogger()
        if not root.handlers or record.levelno < root.level:
            return
        fresh = logging.makeLogRecord({**record.__dict__, "msg": clean(record.getMessage()), "args": None})
        # A traceback may show the address, too.
        fresh.exc_info = fresh.exc_text = None
        root.handle(fresh)


def mask_logs() -> None:
    """Once in a process; again does nothing."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(handler, Masking) for handler in logger.handlers):
            logger.addHandler(Masking())
            logger.propagate = False
