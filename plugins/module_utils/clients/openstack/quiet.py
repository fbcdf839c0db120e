# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove logins from the log records of the libraries."""

from __future__ import annotations

import logging

from .faults import clean

LOGGERS = ("keystoneauth", "openstack", "urllib3", "requests")


class Masking(logging.Handler):
    """A log handler that passes the records of a library to the handlers of the root logger, without secrets.

    When the root logger has no handler, nothing is shown: Python's handler of last resort would write the warnings to
    stderr unchanged.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the record to the root logger, without secrets."""
        root = logging.getLogger()
        if not root.handlers or record.levelno < root.level:
            return
        fresh = logging.makeLogRecord({**record.__dict__, "msg": clean(record.getMessage()), "args": None})
        # A traceback may show the URL with the login, too.
        fresh.exc_info = fresh.exc_text = None
        root.handle(fresh)


def mask_logs() -> None:
    """Install the handler for each library; later calls do nothing."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(handler, Masking) for handler in logger.handlers):
            logger.addHandler(Masking())
            logger.propagate = False
