# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide in which format a client wants an answer, by the rules of Nodepool's own web service."""

from __future__ import annotations

from .libraries import Request

JSON, TEXT, HTML = "application/json", "text/plain", "text/html"
FORMS = (HTML, TEXT, JSON)


def wants_json(request: Request) -> bool | None:
    """True when the header Accept ranks JSON above text and HTML, None when it accepts none of the three."""
    accept = request.accept_mimetypes
    if not accept:
        return False
    html, text, json = (accept.quality(form) for form in FORMS)
    if not max(html, text, json):
        return None
    return bool(json > max(html, text))
