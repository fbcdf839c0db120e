# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The single place where a module starts and ends.

A module file has documentation, an argument spec and one call of :func:`run_module`. The module returns the result of
the work. An error of ``model.errors`` becomes the module's failure, with the details that it carries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..model.errors import (
    CloudError,
    ConfigError,
    DeadlineExceeded,
    MissingLibraryError,
    NodepoolError,
    PartlyFailed,
)
from ..model.foreign import returned
from .malloc_options import set_malloc_options

LIBRARY_PAGES = {
    "asyncssh": "https://asyncssh.readthedocs.io",
    "kazoo": "https://kazoo.readthedocs.io",
    "openstacksdk": "https://docs.openstack.org/openstacksdk",
    "jsonschema": "https://python-jsonschema.readthedocs.io",
    "PyYAML": "https://pyyaml.org",
    "prometheus_client": "https://prometheus.github.io/client_python",
    "waitress": "https://docs.pylonsproject.org/projects/waitress",
    "werkzeug": "https://werkzeug.palletsprojects.com",
}


def run_module(
    work: Callable[[AnsibleModule], dict[str, Any]],
    argument_spec: dict[str, Any],
    **module_options: Any,
) -> None:
    """Make the module, do the work, and exit with its result or fail with one message.

    :param work: takes the module (for ``params``, ``check_mode`` and ``warn``) and returns the result.
    :param argument_spec: options of the module.
    :param module_options: further arguments of AnsibleModule, such as ``required_if``.
    """
    set_malloc_options()
    module = AnsibleModule(argument_spec=argument_spec, supports_check_mode=True, **module_options)
    try:
        result = work(module)
    except NodepoolError as error:
        for warning in error.warnings if isinstance(error, ConfigError) else ():
            module.warn(returned(warning))
        module.fail_json(**returned(failure(error)))
    module.exit_json(**returned(result))


def failure(error: NodepoolError) -> dict[str, Any]:
    """Return the arguments of ``fail_json`` for an error."""
    details: dict[str, Any] = {"msg": str(error), "error_kind": type(error).__name__}
    if isinstance(error, MissingLibraryError):
        details["msg"] = missing_required_lib(error.library, url=LIBRARY_PAGES.get(error.library))
        if error.detail:
            details["exception"] = error.detail
    elif isinstance(error, PartlyFailed):
        details = {**error.result, **details}
    elif isinstance(error, ConfigError):
        details["problems"] = error.problems
    elif isinstance(error, DeadlineExceeded):
        details["last_state"] = error.last_state
    elif isinstance(error, CloudError):
        details.update(provider=error.provider, call=error.call, status=error.status)
    return details
