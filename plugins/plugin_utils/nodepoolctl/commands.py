# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs of the command. A verb is data: which function of which module, with which options, shown how."""

from __future__ import annotations

import re
from typing import Any

from .columns import (
    ACTED,
    ALIEN_IMAGES,
    BUILDS,
    CANCELLED,
    IMAGE_STATUS,
    LEASED,
    LEASES,
    NODES,
    REQUESTS,
    UPLOADS,
    USAGE,
)
from .shapes import Command, Option, Work

LEASE = Work("leasing", "lease", "LEASE_ARGUMENTS", "LEASE_RULES")
NODE = Work("acting", "node", "NODE_ARGUMENTS")
REQUEST = Work("acting", "request", "REQUEST_ARGUMENTS")
NODE_INFO = Work("looking", "node_info", "NODE_INFO_ARGUMENTS")
REQUEST_INFO = Work("looking", "request_info", "REQUEST_INFO_ARGUMENTS")
LEASE_INFO = Work("looking", "lease_info", "LEASE_INFO_ARGUMENTS")
USAGE_INFO = Work("usage_showing", "usage_info", "USAGE_INFO_ARGUMENTS")
STATUS = Work("status_showing", "status", "STATUS_ARGUMENTS")
IMAGE_INFO = Work("image_info", "image_info", "IMAGE_INFO_ARGUMENTS")
DIB_IMAGE_INFO = Work("image_info", "dib_image_info", "DIB_IMAGE_INFO_ARGUMENTS")
DECIDE = Work("deciding", "dib_image", "DIB_IMAGE_ARGUMENTS")
BUILD = Work("building", "build", "BUILD_ARGUMENTS", "BUILD_RULES")
UPLOAD = Work("uploading", "upload", "UPLOAD_ARGUMENTS", "UPLOAD_RULES")
ALIENS = Work("alien_image_info", "aliens", "ALIEN_ARGUMENTS")
CHECK = Work("config_checking", "check", "CONFIG_CHECK_ARGUMENTS")
ERASE = Work("erasing", "provider", "PROVIDER_ARGUMENTS")
IMAGE_DATA = Work("image_data", "image_data", "IMAGE_DATA_ARGUMENTS")

MANY: dict[str, Any] = {"action": "append", "metavar": "NAME"}
SECONDS: dict[str, Any] = {"type": int, "metavar": "SECONDS"}
NODES_TO_NAME = Option("ids", (), "ids of nodes", {"nargs": "+", "metavar": "NODE"}, completes="node")
NAME = Option("name", (), "name of the lease", {"metavar": "LEASE"}, completes="lease")
WAITING = (
    Option("timeout", ("--timeout",), "maximum seconds to wait; the exit status is 4 then", SECONDS),
    Option("launch", ("--launch",), "launch and delete nodes here, where no launcher runs", {"action": "store_true"}),
)
LASTING = (
    Option("expires", ("--expires",), "seconds after which the nodes are deleted in any case", SECONDS),
    Option("until", ("--until",), "time at which the nodes are deleted, such as 18:00", {"metavar": "TIME"}),
)
FILES = (
    Option("known_hosts", ("--known-hosts",), "file for the host keys of the nodes", {"metavar": "FILE"}),
    Option("ssh_config", ("--ssh-config",), "file for ssh -F; needs --known-hosts", {"metavar": "FILE"}),
    Option("inventory", ("--inventory",), "file for an inventory of Ansible; needs --known-hosts", {"metavar": "FILE"}),
    Option("private_key", ("--private-key",), "private key that these files name", {"metavar": "FILE"}),
)
LOOKING = (
    Option(
        "require_launcher",
        ("--no-require-launcher",),
        "do not fail when no launcher works on the tree",
        {"action": "store_false"},
    ),
    Option(
        "require_zookeeper",
        ("--no-require-zookeeper",),
        "do not fail when only the last state before a loss of ZooKeeper can be shown",
        {"action": "store_false"},
    ),
)
PROVIDERS = Option("providers", ("-p", "--provider"), "only those of this provider; repeat it for more", MANY)
STATES = Option("states", ("--state",), "only those in this state; repeat it for more", {**MANY, "metavar": "STATE"})
LABELS = Option("labels", ("-l", "--label"), "only those with this label; repeat it for more", MANY)
OLDER = Option("older_than", ("--older-than",), "only those that old", {"type": float, "metavar": "SECONDS"})

IMAGE_NAMES = Option("image_names", (), "the images", {"nargs": "+", "metavar": "IMAGE"}, completes="image")
FORCE: dict[str, Any] = {"action": "store_true"}
IMAGE = Option("image", (), "the image", {"metavar": "IMAGE"}, completes="image")
WHICH_BUILD = Option("build_id", ("--build",), "id of the build (the newest ready one)", {"metavar": "ID"})

COMMANDS = (
    Command(
        "lease",
        "lease nodes under a name and wait until they are ready",
        LEASE,
        (
            NAME,
            Option("labels", (), "labels of the nodes, one for each", {"nargs": "+", "metavar": "LABEL"}),
            Option("count", ("--count",), "number of sets with these labels", {"type": int, "metavar": "N"}),
            *LASTING,
            *WAITING,
            Option("wait", ("--no-wait",), "ask for the nodes and return at once", {"action": "store_false"}),
            Option(
                "cancel_on_timeout",
                ("--cancel-on-timeout",),
                "release everything when --timeout is over",
                {"action": "store_true"},
            ),
            Option("priority", ("--priority",), "0 (first) to 999", {"type": int, "metavar": "N"}),
            Option("provider", ("-p", "--provider"), "preferred provider", {"metavar": "NAME"}),
            Option("tenant", ("--tenant",), "tenant whose limits the nodes count against", {"metavar": "NAME"}),
            Option("owner", ("--owner",), "who leases the nodes (you)", {"metavar": "NAME"}),
            Option("reason", ("--reason",), "why, for others to read", {"metavar": "TEXT"}),
            Option("ssh_key", ("--ssh-key",), "public key that may log in as well", {"metavar": "KEY"}),
            *FILES,
        ),
        LEASED,
        examples=(
            "lease acceptance-42 debian-12 debian-12 --expires 3600",
            "lease mine debian-12 --until 18:00 -o json",
        ),
        description="Leases nodes under a name. Repeating it returns the same nodes. Ctrl-C releases the lease.",
    ),
    Command(
        "release",
        "release a lease",
        LEASE,
        (NAME, *WAITING, *FILES),
        fixed={"state": "absent"},
        examples=("release acceptance-42",),
        description="Releases a lease and removes its files. A lease that does not exist is not an error.",
        said=("released", "nothing to release"),
    ),
    Command(
        "extend",
        "change when the nodes of a lease are deleted",
        LEASE,
        (NAME, *LASTING),
        LEASED,
        {"state": "extended"},
        ("extend acceptance-42 --expires 3600", "extend mine --until 20:00"),
        description="Changes when the nodes of a lease are deleted: seconds from now, or a time of day.",
    ),
    Command(
        "leases",
        "list leases",
        LEASE_INFO,
        (
            Option("names", (), "only these leases", {"nargs": "*", "metavar": "LEASE"}, completes="lease"),
            PROVIDERS,
            *LOOKING,
        ),
        LEASES,
        examples=("leases", "leases acceptance-42 -o json"),
    ),
    Command(
        "usage",
        "show who used how many node-hours",
        USAGE_INFO,
        (
            Option("days", ("--days",), "number of days up to --last (7)", {"type": int, "metavar": "N"}),
            Option("first", ("--first",), "first day, such as 2026-11-01 (UTC)", {"metavar": "DAY"}),
            Option("last", ("--last",), "last day (today)", {"metavar": "DAY"}),
            Option(
                "group_by", ("--by",), "day, tenant, project, job, label, provider or pool; repeat it for more", MANY
            ),
            Option("tenants", ("--tenant",), "only this tenant; repeat it for more", MANY),
            Option("projects", ("--project",), "only this project; repeat it for more", MANY),
            LABELS,
            PROVIDERS,
            *LOOKING,
        ),
        USAGE,
        examples=("usage --days 1", "usage --days 30 --by tenant --by label", "usage --by day -o json"),
        description="Adds up the node-hours of a period, of nodes that are gone and of those that exist.",
    ),
    Command(
        "list",
        "list nodes",
        NODE_INFO,
        (
            Option("ids", (), "only these nodes", {"nargs": "*", "metavar": "NODE"}, completes="node"),
            Option("detail", ("--detail",), "show all columns", {"action": "store_true"}),
            PROVIDERS,
            Option("pools", ("--pool",), "only those of this pool; repeat it for more", MANY),
            LABELS,
            STATES,
            OLDER,
            *LOOKING,
        ),
        NODES,
        examples=("list", "list --state hold --detail", "list --state ready -o id"),
    ),
    Command(
        "requests",
        "list node requests in the order in which they are served",
        REQUEST_INFO,
        (
            Option("ids", (), "only these requests", {"nargs": "*", "metavar": "REQUEST"}, completes="request"),
            PROVIDERS,
            LABELS,
            STATES,
            Option("requestors", ("--requestor",), "only those of this requestor; repeat it for more", MANY),
            OLDER,
            *LOOKING,
        ),
        REQUESTS,
        examples=("requests --state requested",),
        aliases=("request-list",),
    ),
    Command(
        "why",
        "explain why a request waits, or show the life of a node",
        STATUS,
        (
            Option("id", (), "id of a request or node, or name of a lease", {"metavar": "ID"}, completes="request"),
            *LOOKING,
        ),
        examples=("why 100-0000000011", "why 0000000017 -o json", "why acceptance-42"),
    ),
    Command(
        "status",
        "one screen about providers, nodes, requests and images",
        STATUS,
        (
            Option("width", ("--width",), "columns of the screen (the terminal's)", {"type": int, "metavar": "N"}),
            Option(
                "watch",
                ("-w", "--watch"),
                "look again after so many seconds, until Ctrl-C",
                {"type": float, "metavar": "SECONDS"},
            ),
            *LOOKING,
        ),
        examples=("status", "status --watch 5"),
    ),
    Command(
        "ssh",
        "log in to a node, or run a command on it",
        None,
        (
            Option("target", (), "id of a node, or name of a lease", {"metavar": "ID"}, completes="lease"),
            Option("number", ("-n", "--number"), "which node of the lease (1)", {"type": int, "metavar": "N"}),
            Option(
                "identity",
                ("-i", "--identity"),
                "private key for the login ($NODEPOOL_SSH_KEY)",
                {"metavar": "FILE"},
            ),
            Option("command", (), "the command; a shell without it", {"nargs": "...", "metavar": "COMMAND"}),
            *LOOKING,
        ),
        examples=("ssh 0000000017", "ssh acceptance-42 -i mine uname -a", "ssh -n 2 acceptance-42 bash -s < job.sh"),
        description="Runs ssh with the recorded host keys. The exit status is that of the command, or 255."
        " Options stand before or after ID; the first other word, or --, begins the command.",
    ),
    Command(
        "hold",
        "hold nodes, so that they are not deleted after use",
        NODE,
        (
            NODES_TO_NAME,
            Option("comment", ("--comment",), "why the node is held", {"metavar": "TEXT"}),
            Option("hold_job", ("--job",), "job for which the node is held", {"metavar": "NAME"}),
            Option("hold_expiration", ("--expires",), "seconds after which the node is deleted; 0 for never", SECONDS),
            Option("wait", ("--wait",), "wait until the current user of the node is done", {"action": "store_true"}),
            Option("timeout", ("--timeout",), "maximum seconds to wait with --wait", SECONDS),
        ),
        ACTED,
        {"state": "held"},
        ('hold 0000000017 --comment "alice looks at it" --expires 86400',),
    ),
    Command(
        "unhold",
        "release held nodes, which are then deleted",
        NODE,
        (NODES_TO_NAME,),
        ACTED,
        {"state": "released"},
        ("unhold 0000000017",),
    ),
    Command(
        "delete",
        "delete nodes",
        NODE,
        (
            NODES_TO_NAME,
            Option("wait", ("--wait",), "wait until the current user of the node is done", {"action": "store_true"}),
            Option("timeout", ("--timeout",), "maximum seconds to wait with --wait", SECONDS),
        ),
        ACTED,
        {"state": "absent"},
        ("delete 0000000017",),
    ),
    Command(
        "cancel",
        "delete node requests",
        REQUEST,
        (Option("ids", (), "ids of requests", {"nargs": "+", "metavar": "REQUEST"}, completes="request"),),
        CANCELLED,
        {"state": "absent"},
        ("cancel 100-0000000011",),
    ),
    Command(
        "images",
        "list the uploads of disk images",
        IMAGE_INFO,
        (
            Option("images", (), "only these images", {"nargs": "*", "metavar": "IMAGE"}, completes="image"),
            PROVIDERS,
            Option("ask_clouds", ("--ask-clouds",), "ask each cloud about its images", {"action": "store_true"}),
        ),
        UPLOADS,
        {"ask_clouds": False},
        ("images debian-12",),
        ("image-list",),
    ),
    Command(
        "builds",
        "list the builds of disk images",
        DIB_IMAGE_INFO,
        (Option("images", (), "only these images", {"nargs": "*", "metavar": "IMAGE"}, completes="image"),),
        BUILDS,
        examples=("builds",),
        aliases=("dib-image-list",),
    ),
    Command(
        "build",
        "ask the builder for builds of disk images",
        BUILD,
        (IMAGE_NAMES,),
        fixed={"request": True},
        examples=("build debian-12",),
        aliases=("image-build",),
        said=("asked for the build", "the build was asked for already"),
    ),
    Command(
        "image-status",
        "list the disk images: whether they are paused, and whether a build was asked for",
        DIB_IMAGE_INFO,
        (Option("images", (), "only these images", {"nargs": "*", "metavar": "IMAGE"}, completes="image"),),
        IMAGE_STATUS,
        examples=("image-status",),
    ),
    Command(
        "pause",
        "stop the builds of disk images",
        BUILD,
        (IMAGE_NAMES,),
        fixed={"pause": True},
        examples=("pause debian-12",),
        aliases=("image-pause",),
        said=("paused", "paused already"),
    ),
    Command(
        "unpause",
        "have disk images built again",
        BUILD,
        (IMAGE_NAMES,),
        fixed={"pause": False},
        examples=("unpause debian-12",),
        aliases=("image-unpause",),
        said=("no longer paused", "not paused"),
    ),
    Command(
        "delete-build",
        "delete a build of a disk image, with its uploads",
        BUILD,
        (Option("build_id", (), "id of the build, or IMAGE-ID", {"metavar": "ID"}),),
        fixed={"state": "absent"},
        examples=("delete-build 62ee55d4b3414869b6b292a38d9f6cf0",),
        aliases=("dib-image-delete",),
        said=("deleted, or to be deleted by the builder", "there is no such build, or it is being deleted already"),
        description="Deletes a build. The builder deletes its uploads and files, and its record last.",
    ),
    Command(
        "delete-upload",
        "delete an upload of a disk image",
        UPLOAD,
        (
            Option("provider", ("-p", "--provider"), "the provider", {"metavar": "NAME", "required": True}),
            Option("image", ("--image",), "the image", {"metavar": "IMAGE", "required": True}),
            Option("build_id", ("--build-id",), "id of its build", {"metavar": "ID", "required": True}),
            Option("upload_id", ("--upload-id",), "id of the upload", {"metavar": "ID", "required": True}),
        ),
        fixed={"state": "absent"},
        examples=("delete-upload --provider west --image debian-12 --build-id 62ee55d4 --upload-id 0000000001",),
        aliases=("image-delete",),
        said=("deleted, or to be deleted by the builder", "there is no such upload, or it is being deleted already"),
    ),
    Command(
        "aliens",
        "list images in the clouds that no upload record knows",
        ALIENS,
        (PROVIDERS,),
        ALIEN_IMAGES,
        examples=("aliens --provider west",),
        aliases=("alien-image-list",),
        description="Asks each cloud once for the images that no upload record knows.",
    ),
    Command(
        "check",
        "check nodepool.yaml, and each label against what its cloud offers",
        CHECK,
        (PROVIDERS, Option("offline", ("--offline",), "only the files; ask no cloud", FORCE)),
        examples=("check", "check --offline -c new/nodepool.yaml"),
        aliases=("config-validate",),
        said=("", "the configuration is valid"),
    ),
    Command(
        "erase",
        "erase the records of a provider that has left nodepool.yaml",
        ERASE,
        (
            Option("name", (), "the provider", {"metavar": "PROVIDER"}),
            Option("force", ("--force",), "also records of nodes and uploads that are left", FORCE),
        ),
        examples=("erase west",),
        said=("erased", "nothing to erase"),
    ),
    Command(
        "export-image-data",
        "write the records of disk images into a file",
        IMAGE_DATA,
        (Option("path", (), "the file", {"metavar": "FILE"}),),
        fixed={"state": "exported"},
        examples=("export-image-data images.json",),
        said=("written", "unchanged"),
    ),
    Command(
        "import-image-data",
        "read the records of disk images from a file",
        IMAGE_DATA,
        (
            Option("path", (), "the file", {"metavar": "FILE"}),
            Option("force", ("--force",), "also where a builder works or other records exist", FORCE),
        ),
        fixed={"state": "imported"},
        examples=("import-image-data images.json",),
        said=("read", "unchanged"),
    ),
    Command(
        "approve",
        "use a build of a disk image although its test rejected or held it",
        DECIDE,
        (IMAGE, WHICH_BUILD, Option("reason", ("--reason",), "why, for others to read", {"metavar": "TEXT"})),
        fixed={"state": "approved"},
        examples=('approve debian-12 --reason "the playbook asks for too much"',),
        said=("approved", "it was approved already"),
    ),
    Command(
        "revoke",
        "stop launching nodes from a build of a disk image",
        DECIDE,
        (
            IMAGE,
            WHICH_BUILD,
            Option("reason", ("--reason",), "why, for others to read", {"metavar": "TEXT", "required": True}),
            Option("at", ("--at",), "when it applies, such as 18:00 (at once)", {"metavar": "TIME"}),
        ),
        fixed={"state": "revoked"},
        examples=('revoke debian-12 --reason "its python is broken"',),
        said=("revoked", "it was revoked already"),
        description="The next older build is used instead. Ready nodes of the build are deleted, nodes in use stay.",
    ),
    Command(
        "restore",
        "use a build of a disk image again",
        DECIDE,
        (IMAGE, WHICH_BUILD),
        fixed={"state": "restored"},
        examples=("restore debian-12",),
        said=("restored", "nothing was decided about it"),
    ),
)
BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def facts_about(name: str) -> tuple[Work, str]:
    """Return what reads the row of a request, node or lease, and the option that names it."""
    if re.fullmatch(r"\d+-\d{10}", name):
        return REQUEST_INFO, "ids"
    return (NODE_INFO, "ids") if name.isdecimal() else (LEASE_INFO, "names")
