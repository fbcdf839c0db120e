# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of kazoo that are not part of its interface and that this folder uses: are they there?

A release of kazoo may rename them at any time. Then a session would break in the middle of its work, or, worse, a
method here would never be called again. So they are checked before the first session.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

TESTED = "kazoo>=2.9.0,<2.12"
"""The releases that the tests are run with, as in requirements.txt."""

CONNECTION: Mapping[str, Sequence[str]] = {
    "__init__": ("client", "retry_sleeper", "logger", "sasl_options"),
    "zk_loop": (),
    "_authenticate_with_sasl": ("host", "timeout"),
    "_connect": ("host", "hostip", "port"),
    "_invoke": ("timeout", "request", "xid"),
    "_read": ("length", "timeout"),
    "_read_response": ("header", "buffer", "offset"),
    "_read_socket": ("read_timeout",),
    "_read_watch_event": ("buffer", "offset"),
    "_send_request": ("read_timeout", "connect_timeout"),
    "_write": ("msg", "timeout"),
}
"""Method of ``ConnectionHandler`` that :mod:`wire` replaces → its parameters."""
CLIENT: Mapping[str, Sequence[str]] = {
    "_call": ("request", "async_object"),
    "_notify_pending": ("state",),
    "_safe_close": (),
    "_session_callback": ("state",),
}
"""Method of ``KazooClient`` that :mod:`tree_client` uses or replaces → its parameters."""
HANDLER: Mapping[str, Sequence[str]] = {
    "create_connection": (),
    "create_socket_pair": (),
    "select": (),
}
"""Method of ``SequentialThreadingHandler`` that :mod:`wire` replaces; its parameters are passed on."""
CONNECTION_VALUES = ("_socket", "_write_sock", "client", "handler")
CLIENT_VALUES = (
    *("_child_watchers", "_conn_retry", "_connection", "_data_watchers", "_queue", "_state", "_stopped"),
    *("auth_data", "chroot", "last_zxid"),
)
HANDLER_VALUES = ("completion_queue", "queue_impl")
LOCK_VALUES = ("assured_path", "create_tried", "node", "prefix")
"""Attributes that are set while an object is made or works."""


def missing(connection: Any, client: Any, handler: Any, lock: Any) -> list[str]:
    """Return a part of a sentence for each name that is not there, or takes other arguments.

    :param connection, client, handler, lock: kazoo's classes ConnectionHandler, KazooClient,
        SequentialThreadingHandler and Lock.
    """
    wanted: tuple[tuple[Any, Mapping[str, Sequence[str]], Sequence[str]], ...] = (
        (connection, CONNECTION, CONNECTION_VALUES),
        (client, CLIENT, CLIENT_VALUES),
        (handler, HANDLER, HANDLER_VALUES),
        (lock, {}, LOCK_VALUES),
    )
    return [told for cls, methods, values in wanted for told in _missing_of(cls, methods, values)]


def _missing_of(cls: Any, methods: Mapping[str, Sequence[str]], values: Sequence[str]) -> Iterator[str]:
    for name, parameters in methods.items():
        method = getattr(cls, name, None)
        if method is None:
            yield f"{cls.__name__} has no {name}"
        elif list(inspect.signature(method).parameters)[1 : 1 + len(parameters)] != list(parameters):
            yield f"{cls.__name__}.{name} does not take {', '.join(parameters)}"
    # An attribute that no method of the class names is not set by it either.
    known = {name for each in cls.__mro__ for method in _methods(each) for name in method.__code__.co_names}
    for name in values:
        if name not in known and not hasattr(cls, name):
            yield f"{cls.__name__} has no {name}"


def _methods(cls: type) -> Iterator[FunctionType]:
    for value in vars(cls).values():
        found = value.fget if isinstance(value, property) else value
        if isinstance(found, FunctionType):
            yield found
