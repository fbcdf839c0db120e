# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The family of exceptions of the collection.

Nothing below ``runtime/`` calls ``fail_json``: whatever goes wrong is one of these, and
``runtime`` turns it into a module failure at one place. A message is a sentence for an
operator: what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class NodepoolError(Exception):
    """Base of everything that the collection raises on purpose."""


class PartlyFailed(NodepoolError):
    """What was asked for by name could not be done, or not all of it.

    :param result: what was done all the same, as the module would have returned it.
    """

    def __init__(self, message: str, result: Mapping[str, Any]) -> None:
        self.result = dict(result)
        super().__init__(message)


class ConfigError(NodepoolError):
    """The user's configuration cannot be used.

    :param problems: one sentence for each problem, each naming file, path in it and remedy.
    :param warnings: the same for what would not have been an error: it may tell what the mistake was.
    """

    def __init__(self, problems: Sequence[str], warnings: Sequence[str] = ()) -> None:
        self.problems = list(problems)
        self.warnings = list(warnings)
        super().__init__("\n".join(self.problems))


class MissingLibraryError(NodepoolError):
    """A Python library that a client needs is not installed.

    :param library: name of the distribution, for ``missing_required_lib``.
    :param detail: the traceback of the failed import, for the module's ``exception``.
    """

    def __init__(self, library: str, detail: str | None = None) -> None:
        self.library = library
        self.detail = detail
        super().__init__(f"the Python library {library} is not installed for this interpreter")


class DeadlineExceeded(NodepoolError):
    """Something did not happen in its time; carries the last state that was seen."""

    def __init__(self, message: str, last_state: Mapping[str, Any] | None = None) -> None:
        self.last_state = dict(last_state or {})
        super().__init__(message)


class StoreError(NodepoolError):
    """ZooKeeper could not be reached or refused an operation."""


class StoreGone(StoreError):
    """The znode that was to be changed does not exist any more."""


class StoreConflict(StoreError):
    """The znode was changed by another client since it was read, or exists already."""


class TreeExchanged(StoreError):
    """Where the tree was that a cycle began with there is another one now, or none: nothing it knows holds any more."""


class CloudError(NodepoolError):
    """A cloud did not do what was asked.

    :param provider: name of the provider in nodepool.yaml.
    :param call: the kind of call, e.g. ``POST /servers``.
    :param status: HTTP status, None when there was no answer.
    :param unclear: True when the call may have taken effect all the same (no answer, or a
        5xx on a call that changes something).
    :param retry_after: seconds the cloud asked us to wait, when it did.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        call: str = "",
        status: int | None = None,
        unclear: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.provider = provider
        self.call = call
        self.status = status
        self.unclear = unclear
        self.retry_after = retry_after
        super().__init__(message)


class CloudUnavailable(CloudError):
    """No answer in time, no connection, 429, 5xx, or an answer that makes no sense."""


class CloudAuthError(CloudError):
    """The cloud does not accept our credentials (401), or clouds.yaml does not name the cloud."""


class CloudQuotaRefused(CloudError):
    """A create was refused because of a quota.

    :param resources: names as in :mod:`model.resources`, as far as the message tells; may be empty.
    """

    def __init__(self, message: str, *, resources: Sequence[str] = (), **context: Any) -> None:
        self.resources = tuple(resources)
        super().__init__(message, **context)


class CloudRefused(CloudError):
    """Any other 4xx: the request itself is wrong or not allowed."""


class CloudNotFound(CloudRefused):
    """404 for the object that the call names."""


class CloudConflict(CloudRefused):
    """409: the object is in a state that does not allow the call."""


class CloudImageBroken(CloudError):
    """An image in the cloud is not what was sent: its state, size or checksum tells so."""


class ImageFileError(NodepoolError):
    """A file of a disk image on this machine cannot be used."""


class HookError(NodepoolError):
    """A program of the operator's did not do its part."""
