# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The logs of tests of new images as plain text, where this host has them.

No part of a request, and no text of ZooKeeper, becomes a path: the provider and the image must be in the configuration,
and the record of the gate gives ids and a number of a known form.
"""

from __future__ import annotations

from ..clients.kept_log import read_log_end
from ..model.gate import LOGS, log_name
from ..model.image import is_build_id, is_upload_id
from ..reporting.info.gate_rows import gate_record
from .libraries import Request, Response
from .picture import Snapshot
from .routing import Route

PATH = "/gate-logs/<provider>/<image>/<number>"
MOST_NUMBER = 99_999


def gate_log(snapshot: Snapshot, _request: Request, provider: str, image: str, number: str) -> Response:
    """Return the end of a log; 404 with a sentence if there is none here."""
    config = snapshot.config
    known = provider in config.providers and image in config.diskimages
    record = gate_record(snapshot.reading, provider, image) if known else None
    if record is None or not (is_build_id(record.build) and is_upload_id(record.upload)):
        return _plain("no test of this image at this provider is known\n", 404)
    if not (number.isascii() and number.isdigit() and 0 < int(number[:6]) <= MOST_NUMBER):
        return _plain("the number of a log is expected\n", 404)
    name = log_name(image, record.build, provider, record.upload, int(number[:6]))
    text = read_log_end(config.build_log_dir, LOGS, name)
    if text is None:
        where = f"{LOGS}/{name} in build-log-dir of the builder"
        return _plain(f"this host does not have the log, or this service may not read it: it is {where}\n", 404)
    return _plain(text)


def _plain(text: str, status: int = 200) -> Response:
    return Response(text, status, headers={"Cache-Control": "no-store"}, mimetype="text/plain")


ROUTES: tuple[Route, ...] = (Route(PATH, gate_log),)
