# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exceptions of the collection.

Nothing below ``runtime/`` calls ``fail_json``: code raises one of these errors, and ``runtime`` turns it into a module
failure in one place. A message is a sentence for the operator: what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class NodepoolError(Exception):
    """The base class of all errors that the collection raises on purpose."""


class PartlyFailed(NodepoolError):
    """An operation on named objects failed for some or all of them.

    :param result: what was done nevertheless, as the module would have returned it.
    """

    def __init__(self, message: str, result: Mapping[str, Any]) -> None:
        self.result = dict(result)
        super().__init__(message)


class ConfigError(NodepoolError):
    """The user's configuration cannot be used.

    :param problems: one sentence for each problem, each with the file, the path in it and the remedy.
    :param warnings: one sentence for each problem that is not an error by itself: it may show the mistake.
    """

    def __init__(self, problems: Sequence[str], warnings: Sequence[str] = ()) -> None:
        self.problems = list(problems)
        self.warnings = list(warnings)
        super().__init__("\n".join(self.problems))


class UnknownName(ConfigError):
    """Somebody names a node, request, lease, provider, pool, label or image that does not exist."""


def wrong(problem: str) -> ConfigError:
    """Return the error for one problem; its warnings are none."""
    return ConfigError([problem])


class MissingLibraryError(NodepoolError):
    """A Python library that a client needs is not installed.

    :param library: name of the distribution, for ``missing_required_lib``.
    :param detail: the traceback of the failed import, for the module's ``exception``.
    """

    def __init__(self, library: str, detail: str | None = None) -> None:
        self.library = library
        self.detail = detail
        super().__init__(f"the Python library {library} is not installed for this interpreter")


class UnsuitableLibraryError(NodepoolError):
    """A Python library is installed in a release that the collection cannot work with.

    :param lacks: a part of a sentence for each thing that this release has no more.
    :param wanted: the requirement of the releases that can be used.
    """

    def __init__(self, library: str, version: str, lacks: Sequence[str], wanted: str) -> None:
        super().__init__(
            f"{library} {version} cannot be used: {'; '.join(lacks)}. Install a release that the collection was tested"
            f" with: pip install '{wanted}'"
        )


class DeadlineExceeded(NodepoolError):
    """A result did not arrive in time. *last_state* is the last state that was seen."""

    def __init__(self, message: str, last_state: Mapping[str, Any] | None = None) -> None:
        self.last_state = dict(last_state or {})
        super().__init__(message)


class Stopped(DeadlineExceeded):
    """A signal, the control file or the end of its controller ended the work before there was a result.

    :ivar by_controller: it was the end of its controller, the process that had started it.
    """

    def __init__(
        self, message: str, last_state: Mapping[str, Any] | None = None, *, by_controller: bool = False
    ) -> None:
        self.by_controller = by_controller
        super().__init__(message, last_state)


class StoreError(NodepoolError):
    """ZooKeeper could not be reached or refused an operation."""


class StoreUnreachable(StoreError):
    """There is no connection to ZooKeeper, or it broke: no server answers, or they have no quorum."""


class OnlyLastState(PartlyFailed, StoreUnreachable):
    """ZooKeeper could not be reached, and what is shown is the last state that is kept on this host."""


class StoreGone(StoreError):
    """The znode of an operation does not exist (any more)."""


class StoreConflict(StoreError):
    """The znode was changed by another client since it was read, or exists already."""


class StoreDenied(StoreError):
    """ZooKeeper does not accept the account of this client, or the account may not do what was asked."""


class RecordClosed(StoreConflict):
    """This client cannot change the znode of a node, request, build or upload; the record is not used any more."""


class StoreTooLarge(StoreError):
    """A request is larger than ZooKeeper accepts; it was not sent. ZooKeeper would have ended the connection."""


class TreeExchanged(StoreError):
    """The tree that a cycle began with is gone or was replaced by another one: all that the cycle knows is invalid."""


class CloudError(NodepoolError):
    """A cloud did not do what a call asked for.

    :param provider: name of the provider in nodepool.yaml.
    :param call: the kind of call, e.g. ``POST /servers``.
    :param status: HTTP status, None when there was no answer.
    :param unclear: True when the call may have taken effect nevertheless (no answer, or a
        5xx on a call that changes something).
    :param retry_after: seconds that the cloud asked the client to wait; None when it did not ask.
    :param error_type: the machine-readable type in the body: neutron's type, nova's key; "" without one.
    :param foreign: True if no service of OpenStack has answered, but what stands before it.
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
        error_type: str = "",
        foreign: bool = False,
    ) -> None:
        self.provider = provider
        self.call = call
        self.status = status
        self.unclear = unclear
        self.retry_after = retry_after
        self.error_type = error_type
        self.foreign = foreign
        super().__init__(message)


class CloudUnavailable(CloudError):
    """There was no connection, no answer in time, 429, 5xx, or an answer that makes no sense."""


class CloudAuthError(CloudError):
    """The cloud does not accept the credentials, or the entry in clouds.yaml cannot be used."""


class CloudTokenRefused(CloudAuthError):
    """A service of the cloud does not accept a token that the cloud has just given; the credentials are right."""


class CloudQuotaRefused(CloudError):
    """The cloud refused a create because of a quota.

    :param resources: names as in :mod:`model.resources`, as far as the cloud's message has them; may be empty.
    """

    def __init__(self, message: str, *, resources: Sequence[str] = (), **context: Any) -> None:
        self.resources = tuple(resources)
        super().__init__(message, **context)


class CloudRefused(CloudError):
    """The cloud answered with any other 4xx: the request itself is wrong or not allowed."""


class CloudNotFound(CloudRefused):
    """The cloud answered with 404: the object of the call does not exist."""


class CloudConflict(CloudRefused):
    """The cloud answered with 409: the object is in a state that does not allow the call."""


class CloudImageBroken(CloudError):
    """An image in the cloud differs from the file that was sent, by its state, size or checksum."""


class ImageFileError(NodepoolError):
    """A file of a disk image on this machine cannot be used."""


class HookError(NodepoolError):
    """A hook of the operator failed."""
