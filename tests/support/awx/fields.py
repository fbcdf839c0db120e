# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The writable fields of AWX's API (v2) for each kind of thing: type, choices, what may be empty.

As AWX's public source and API guide describe them, for AWX 24. AWX
ignores a field that it does not know; here it is refused, because it would be a mistake of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    """One field.

    :param type: ``str``, ``bool``, ``int``, ``dict``, ``list``; ``id:KIND`` for the id of another thing; ``vars`` for a
        text with a mapping in JSON.
    :param default: what is there when nobody gave one.
    :param needed: must be given when the thing is made.
    :param null: may be null.
    :param blank: a text may be empty.
    :param read_only: is ignored when it is given.
    """

    type: str
    default: Any = None
    choices: tuple[Any, ...] = ()
    needed: bool = False
    null: bool = False
    blank: bool = True
    longest: int = 0
    least: int | None = None
    read_only: bool = False


def text(**more: Any) -> Field:
    """A text that may be empty."""
    return Field("str", **{"default": "", **more})


def name() -> Field:
    """The name of a thing."""
    return Field("str", needed=True, blank=False, longest=512)


def flag(default: bool = False) -> Field:
    """Yes or no."""
    return Field("bool", default)


def number(default: int = 0, least: int | None = 0, **more: Any) -> Field:
    """A whole number."""
    return Field("int", default, least=least, **more)


def link(kind: str, **more: Any) -> Field:
    """The id of another thing; null when there is none."""
    return Field(f"id:{kind}", null=not more.get("needed"), **more)


VERBOSITY = (0, 1, 2, 3, 4, 5)
ASK = (
    "scm_branch", "diff_mode", "variables", "limit", "tags", "skip_tags", "job_type", "verbosity", "inventory",
    "credential", "execution_environment", "labels", "forks", "job_slice_count", "timeout", "instance_groups",
)  # fmt: skip
CLOUD_SOURCES = (
    "file", "constructed", "scm", "ec2", "gce", "azure_rm", "vmware", "satellite6", "openstack", "rhv", "controller",
    "insights", "terraform", "openshift_virtualization",
)  # fmt: skip

FIELDS: dict[str, dict[str, Field]] = {
    "organizations": {"name": name(), "description": text()},
    "execution_environments": {
        "name": name(),
        "description": text(),
        "organization": link("organizations"),
        "image": Field("str", needed=True, blank=False, longest=1024),
        "pull": text(choices=("", "always", "missing", "never")),
        "credential": link("credentials"),
    },
    "credential_types": {
        "name": name(),
        "description": text(),
        "kind": Field("str", needed=True, choices=("cloud", "net")),
        "inputs": Field("dict", {}),
        "injectors": Field("dict", {}),
        "managed": Field("bool", False, read_only=True),
    },
    "credentials": {
        "name": name(),
        "description": text(),
        "organization": link("organizations"),
        "credential_type": link("credential_types", needed=True),
        "inputs": Field("dict", {}),
        "user": link("users"),
        "team": link("teams"),
    },
    "projects": {
        "name": name(),
        "description": text(),
        "organization": link("organizations"),
        "local_path": text(),
        "scm_type": text(choices=("", "git", "svn", "insights", "archive")),
        "scm_url": text(longest=1024),
        "scm_branch": text(longest=256),
        "scm_refspec": text(longest=1024),
        "scm_clean": flag(),
        "scm_delete_on_update": flag(),
        "scm_track_submodules": flag(),
        "scm_update_on_launch": flag(),
        "scm_update_cache_timeout": number(),
        "allow_override": flag(),
        "credential": link("credentials"),
        "timeout": number(least=None),
        "default_environment": link("execution_environments"),
        "signature_validation_credential": link("credentials"),
    },
    "inventories": {
        "name": name(),
        "description": text(),
        "organization": link("organizations", needed=True),
        "kind": text(choices=("", "smart", "constructed")),
        "host_filter": Field("str", None, null=True),
        "variables": Field("vars", ""),
        "prevent_instance_group_fallback": flag(),
        "pending_deletion": Field("bool", False, read_only=True),
    },
    "inventory_sources": {
        "name": name(),
        "description": text(),
        "inventory": link("inventories", needed=True),
        "source": Field("str", None, choices=CLOUD_SOURCES),
        "source_path": text(longest=1024),
        "source_vars": Field("vars", ""),
        "source_project": link("projects"),
        "scm_branch": text(longest=1024),
        "credential": Field("id:credentials", None, null=True),
        "enabled_var": text(),
        "enabled_value": text(),
        "host_filter": text(),
        "limit": text(),
        "overwrite": flag(),
        "overwrite_vars": flag(),
        "timeout": number(least=None),
        "verbosity": Field("int", 1, choices=(0, 1, 2)),
        "update_on_launch": flag(),
        "update_cache_timeout": number(),
        "execution_environment": link("execution_environments"),
    },
    "job_templates": {
        "name": name(),
        "description": text(),
        # It is the project's.
        "organization": Field("id:organizations", None, null=True, read_only=True),
        "job_type": Field("str", "run", choices=("run", "check")),
        "inventory": link("inventories"),
        "project": link("projects"),
        "playbook": text(longest=1024),
        "scm_branch": text(longest=1024),
        "forks": number(),
        "limit": text(),
        "verbosity": Field("int", 0, choices=VERBOSITY),
        "extra_vars": Field("vars", ""),
        "job_tags": text(),
        "force_handlers": flag(),
        "skip_tags": text(longest=1024),
        "start_at_task": text(longest=1024),
        "timeout": number(least=None),
        "use_fact_cache": flag(),
        "execution_environment": link("execution_environments"),
        "host_config_key": text(longest=1024),
        **{f"ask_{what}_on_launch": flag() for what in ASK},
        "survey_enabled": flag(),
        "become_enabled": flag(),
        "diff_mode": flag(),
        "allow_simultaneous": flag(),
        "job_slice_count": number(1),
        "webhook_service": text(choices=("", "github", "gitlab", "bitbucket_dc")),
        "webhook_credential": link("credentials"),
        "prevent_instance_group_fallback": flag(),
    },
    "workflow_job_templates": {
        "name": name(),
        "description": text(),
        "organization": link("organizations"),
        "inventory": link("inventories"),
        "limit": text(),
        "scm_branch": text(),
        "extra_vars": Field("vars", ""),
        "job_tags": text(),
        "skip_tags": text(),
        "survey_enabled": flag(),
        "allow_simultaneous": flag(),
        **{f"ask_{what}_on_launch": flag() for what in ASK},
        "webhook_service": text(choices=("", "github", "gitlab", "bitbucket_dc")),
        "webhook_credential": link("credentials"),
    },
    "workflow_job_template_nodes": {
        "identifier": name(),
        "workflow_job_template": link("workflow_job_templates", needed=True),
        "unified_job_template": link("unified_job_templates"),
        "extra_data": Field("dict", {}),
        "inventory": link("inventories"),
        "all_parents_must_converge": flag(),
        # awx.awx sends it.
        "type": Field("str", "workflow_job_template_node", read_only=True),
    },
    "system_job_templates": {"name": name(), "description": text(), "job_type": text()},
    "instance_groups": {"name": name()},
    "schedules": {
        "name": name(),
        "description": text(),
        "rrule": Field("str", needed=True, blank=False),
        "unified_job_template": link("unified_job_templates", needed=True),
        "extra_data": Field("dict", {}),
        "inventory": link("inventories"),
        "scm_branch": text(),
        "job_type": Field("str", None, choices=("", "run", "check"), null=True),
        "job_tags": text(),
        "skip_tags": text(),
        "limit": text(),
        "diff_mode": Field("bool", None, null=True),
        "verbosity": Field("int", None, choices=VERBOSITY, null=True),
        "execution_environment": link("execution_environments"),
        "forks": Field("int", None, null=True),
        "job_slice_count": Field("int", None, null=True),
        "timeout": Field("int", None, null=True),
        "enabled": flag(True),
    },
}

TYPES = {kind: kind.removesuffix("s") for kind in FIELDS} | {"inventories": "inventory"}
"""What a thing says of itself in ``type``."""

ASSOCIATIONS = {
    "job_templates": {"credentials": "credentials", "instance_groups": "instance_groups"},
    "schedules": {"credentials": "credentials", "instance_groups": "instance_groups"},
    "inventories": {"instance_groups": "instance_groups"},
    "workflow_job_template_nodes": {
        f"{when}_nodes": "workflow_job_template_nodes" for when in ("success", "failure", "always")
    },
}
"""Lists of other things that hang at a thing: name of the list → their kind."""

UNIFIED = ("projects", "inventory_sources", "job_templates", "workflow_job_templates", "system_job_templates")
"""What a schedule may start."""

UNIQUE = {
    "organizations": ("name",),
    "execution_environments": ("name",),
    "credential_types": ("name", "kind"),
    "credentials": ("name", "organization", "credential_type"),
    "projects": ("name", "organization"),
    "inventories": ("name", "organization"),
    "inventory_sources": ("name", "inventory"),
    "job_templates": ("name", "organization"),
    "schedules": ("name", "unified_job_template"),
    "workflow_job_templates": ("name", "organization"),
    "workflow_job_template_nodes": ("identifier", "workflow_job_template"),
}
"""What two things of a kind may not have in common, all of it."""
