# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of nodepool.yaml and secure.conf as JSON Schema (draft 2020-12). Data only.

A key without a value counts as absent, so each optional type also allows ``null``. ``errorMessage`` is the sentence for
a rule for which JSON Schema has no readable text; ``x-unit`` names the unit of a number. :mod:`messages` reads both;
editors know ``errorMessage`` too. :mod:`check` checks references from one place of the file to another.
"""

from __future__ import annotations

from typing import Any

from .drivers import OTHER_DRIVERS, OURS

Schema = dict[str, Any]

MOST_SECONDS = 10**9
MOST = 10**12

LONGEST_NAME = 255
"""Most characters of the names that each server carries: nova's limit for a value of metadata."""
WITHOUT_EFFECT = "Accepted by Nodepool and here, without any effect."


def _value(kind: str, meaning: str, **more: Any) -> Schema:
    return {"description": meaning, "type": [kind, "null"], **more}


def _text(meaning: str, **more: Any) -> Schema:
    return _value("string", meaning, **more)


def _needed_text(meaning: str, **more: Any) -> Schema:
    return {"description": meaning, "type": "string", "minLength": 1, **more}


def _switch(meaning: str, **more: Any) -> Schema:
    return _value("boolean", meaning, **more)


def _seconds(meaning: str, *, least: int = 0, **more: Any) -> Schema:
    return _value("integer", meaning, minimum=least, maximum=MOST_SECONDS, **{"x-unit": "seconds"}, **more)


def _count(meaning: str, *, least: int | None = 0, unit: str | None = None, **more: Any) -> Schema:
    bounds: Schema = {"minimum": -MOST if least is None else least, "maximum": MOST}
    return _value("integer", meaning, **bounds, **({"x-unit": unit} if unit else {}), **more)


def _texts(meaning: str) -> Schema:
    return _value("array", meaning, items={"type": "string", "minLength": 1})


def _list(meaning: str, items: Schema) -> Schema:
    return _value("array", meaning, items=items)


def _mapping(meaning: str, values: Schema) -> Schema:
    return _value("object", meaning, additionalProperties=values)


def _object(meaning: str, properties: Schema, required: tuple[str, ...] = (), **more: Any) -> Schema:
    return {
        "description": meaning,
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _present(key: str) -> Schema:
    """Return the rule that *key* exists and has a value."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


def _rule(kind: str, keys: tuple[str, ...], sentence: str) -> Schema:
    return {kind: [_present(key) for key in keys], "errorMessage": sentence}


_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_ZNODE_NAME: Schema = {
    "pattern": "^(?!\\.{1,2}$)(?![\\s\\S]*[/\\u0000-\\u001f\\u007f-\\u009f])",
    "errorMessage": "cannot be a part of a ZooKeeper path: leave out slashes and control characters",
    "maxLength": LONGEST_NAME,
}
_IMAGE_TAGS: Schema = {
    "description": "Tags of the image in glance.",
    "type": ["array", "string", "number", "boolean", "null"],
    "items": {"type": "string", "minLength": 1, "maxLength": 255},
}
_PORT: Schema = {"minimum": 1, "maximum": 65535}


def _image_properties(meaning: str) -> Schema:
    return _value("object", meaning, properties={"tags": _IMAGE_TAGS}, additionalProperties=_SCALAR)


ZOOKEEPER_SERVER = _object(
    "One server of the ZooKeeper ensemble.",
    {
        "host": _needed_text("Name or address; an IPv6 address with or without brackets."),
        "port": _value("integer", "TCP port.", default=2281, **_PORT),
        "chroot": _text("Path below which everything is kept; the same for all servers.", default=""),
    },
    ("host",),
)

ZOOKEEPER: Schema = {
    "zookeeper-servers": _value(
        "array", "The ZooKeeper ensemble. Required here or in secure.conf.", items=ZOOKEEPER_SERVER, minItems=1
    ),
    "zookeeper-tls": _object(
        "Paths of PEM files for TLS with a client certificate; without it the connection is plain.",
        {
            "cert": _needed_text("The client's certificate."),
            "key": _needed_text("The client's private key."),
            "ca": _needed_text("The certificate of the authority."),
        },
        ("cert", "key", "ca"),
        type=["object", "null"],
    ),
}

ZOOKEEPER_AUTH: Schema = {
    "zookeeper-auth": _object(
        "The account of this client in ZooKeeper; without it the client is anonymous.",
        {
            "scheme": _text(
                "digest sends name and password, sasl proves the password by DIGEST-MD5.",
                enum=["digest", "sasl", None],
                default="digest",
            ),
            "username": {
                **_needed_text("Name of the account.", pattern=r"^[^\s:\x00-\x1f\x7f]+$"),
                "errorMessage": "cannot be the name of an account: leave out colons, blanks and control characters",
            },
            "password": _needed_text("Password of the account."),
            "former-password": _text(
                "The password before, while it is being replaced; scheme digest only.", default=""
            ),
            "protect": _switch("Only this account may change what the collection keeps.", default=False),
        },
        ("username", "password"),
        type=["object", "null"],
    ),
}

ENV_VARS = _mapping("Environment of the build; values are text.", {"type": "string"})

LABEL = _object(
    "A label that can be asked for.",
    {
        "name": _needed_text("Name of the label.", maxLength=LONGEST_NAME),
        "min-ready": _count("Nodes to keep ready; 0 or less for none.", least=None, unit="nodes", default=0),
        "max-ready-age": _seconds(
            "Ready nodes older than this are deleted; 0 or less switches it off.", least=-MOST_SECONDS, default=0
        ),
    },
    ("name",),
)

DISKIMAGE = _object(
    "An image that is built with diskimage-builder.",
    {
        "name": _needed_text("Name of the image.", **_ZNODE_NAME),
        "abstract": _switch("Only a template for others, never built.", default=False),
        "parent": _text("The diskimage to inherit from.", minLength=1),
        "elements": _texts("Elements of diskimage-builder, after those of the parent."),
        "env-vars": ENV_VARS,
        "release": {"description": "DIB_RELEASE.", "type": ["string", "number", "null"], "default": ""},
        "formats": _texts("Formats to build besides those that providers need."),
        "keep-formats": _texts("Formats to keep when delete-after-upload is set."),
        "delete-after-upload": _switch("Delete local files once they are uploaded everywhere.", default=False),
        "rebuild-age": _seconds("Build again when the newest image is this old.", default=86400),
        "build-timeout": _seconds("Most time that a build may take.", default=28800),
        "pause": _switch("Build no new images.", default=False),
        "username": _text("Account that the node is reached with.", default="zuul"),
        "python-path": _text("Python interpreter on the node.", default="auto"),
        "shell-type": _text("Shell of the account, for Ansible."),
        "dib-cmd": _text("Command that builds.", default="disk-image-create"),
        "metadata": _image_properties(
            "Properties of the image in every cloud; not inherited; the list tags is that of its tags."
        ),
    },
    ("name",),
)

_CONNECTION: Schema = {
    "connection-type": _text("How Ansible connects.", default="ssh"),
    "connection-port": _value("integer", "Port to connect to: 22, for winrm 5986.", **_PORT),
}

PROVIDER_DISKIMAGE = _object(
    "A diskimage that is uploaded to this provider.",
    {
        "name": _needed_text("Name of the diskimage."),
        "pause": _switch("Upload no new images.", default=False),
        "config-drive": _switch("Give servers a config drive; the cloud's choice when absent."),
        "meta": _image_properties("Properties of the image in this cloud; the list tags is that of its tags."),
        **_CONNECTION,
    },
    ("name",),
)

CLOUD_IMAGE = _object(
    "An image that is in the cloud already.",
    {
        "name": _needed_text(
            "Name here, and in the cloud when neither image-id nor image-name is given.", maxLength=LONGEST_NAME
        ),
        "image-id": _text("Id of the image.", minLength=1),
        "image-name": _text("Name of the image.", minLength=1),
        "config-drive": _switch("Give servers a config drive; the cloud's choice when absent."),
        "username": _text("Account that the node is reached with."),
        "python-path": _text("Python interpreter on the node.", default="auto"),
        "shell-type": _text("Shell of the account, for Ansible."),
        **_CONNECTION,
    },
    ("name",),
    **{
        "not": {"allOf": [_present("image-id"), _present("image-name")]},
        "errorMessage": "has both image-id and image-name: keep one of them",
    },
)

POOL_LABEL = _object(
    "How a pool makes nodes of a label.",
    {
        "name": _needed_text("Name of a label at the top of the file.", maxLength=LONGEST_NAME),
        "diskimage": _text("A diskimage of this provider.", minLength=1),
        "cloud-image": _text("A cloud-image of this provider.", minLength=1),
        "flavor-name": _text("Name or id of the flavor; with min-ram a part of its name.", minLength=1),
        "min-ram": _count("The smallest flavor with at least this much.", unit="MiB", default=0),
        "key-name": _text("Key pair in the cloud.", minLength=1),
        "console-log": _switch("Log the console of a server that failed to start.", default=False),
        "boot-from-volume": _switch("Boot from a new volume that is deleted with the server.", default=False),
        "volume-size": _count("Size of that volume.", least=1, unit="GB", default=50),
        "instance-properties": _mapping("Metadata of the server.", _SCALAR),
        "dynamic-instance-properties": _mapping(
            "Metadata of the server; {request.…} is replaced by a value of the request.", _SCALAR
        ),
        "userdata": _text("User data for cloud-init."),
        "networks": _texts("Names or ids of networks, instead of the pool's."),
        "host-key-checking": _switch("Wait until the node answers by ssh, instead of the pool's setting."),
    },
    ("name",),
    allOf=[
        _rule("oneOf", ("diskimage", "cloud-image"), "needs exactly one of diskimage and cloud-image"),
        _rule("anyOf", ("flavor-name", "min-ram"), "needs flavor-name or min-ram: say which flavor to use"),
    ],
)

_LIMITS: Schema = {
    "max-cores": _count("Most cores.", unit="cores"),
    "max-ram": _count("Most memory.", unit="MiB"),
    "max-volumes": _count("Most volumes.", unit="volumes"),
    "max-volume-gb": _count("Most space on volumes.", unit="GB"),
}

POOL = _object(
    "A part of a provider with its own limits.",
    {
        "name": _needed_text("Name of the pool.", **_ZNODE_NAME),
        "priority": _count("Smaller ones are asked first; the provider's when absent.", least=None),
        "max-servers": _count("Most servers; 0 or less disables the pool.", least=None, unit="servers"),
        **_LIMITS,
        "ignore-provider-quota": _switch("Look only at the limits of this pool.", default=False),
        "availability-zones": _texts("Zones to use; all of the cloud when absent."),
        "networks": _texts("Names or ids of networks."),
        "security-groups": _texts("Names or ids of security groups."),
        "auto-floating-ip": _switch("Give a server a floating IP when it needs one.", default=True),
        "host-key-checking": _switch("Wait until a node answers by ssh and keep its host keys.", default=True),
        "node-attributes": _value("object", "Passed to the requestor of the node."),
        "labels": _list("Labels that this pool offers.", POOL_LABEL),
        "use-internal-ip": {"description": WITHOUT_EFFECT},
    },
    ("name",),
)

_ANY_PROVIDER: Schema = {
    "name": _needed_text("Name of the provider.", **_ZNODE_NAME),
    "driver": {
        "description": "openstack; a provider with another driver is left out.",
        "enum": [OURS, *OTHER_DRIVERS, None],
        "default": OURS,
    },
}

PROVIDER = _object(
    "A cloud, or a region of it.",
    {
        **_ANY_PROVIDER,
        "priority": _count("Smaller ones are asked first.", least=None, default=100),
        "max-concurrency": _count("Most launches side by side; 0 or less for no limit.", least=None, default=-1),
        "cloud": _needed_text("Name of the cloud in clouds.yaml."),
        "region-name": _text("Region of the cloud.", minLength=1),
        "rate": _value(
            "number",
            "Least time between the starts of two API calls; 0 for no delay.",
            minimum=0,
            maximum=3600,
            default=0,
            **{"x-unit": "seconds"},
        ),
        "boot-timeout": _seconds("Most time from an address to an answer by ssh.", least=1, default=60),
        "launch-timeout": _seconds("Most time that the cloud may take to start a server.", least=1, default=3600),
        "launch-retries": _count("Attempts for a node; 0 acts as 1.", unit="attempts", default=3),
        "image-upload-timeout": _seconds("Most time that an upload may take.", least=1, default=3600),
        "image-name-format": _text(
            "Name of an uploaded image, of {image_name}, {upload_id} and {timestamp}.",
            default="{image_name}-{timestamp}",
        ),
        "post-upload-hook": _text("Script that is called after an upload."),
        "clean-floating-ips": _switch("Delete floating IPs of ours that nothing uses.", default=False),
        "port-cleanup-interval": _seconds("Time between two clean-ups of ports; 0 switches them off.", default=600),
        "diskimages": _list("Diskimages to upload to this provider.", PROVIDER_DISKIMAGE),
        "cloud-images": _list("Images that are in the cloud already.", CLOUD_IMAGE),
        "pools": _list("Pools of the provider.", POOL),
        "nodepool-id": {"description": WITHOUT_EFFECT},
    },
    ("name", "cloud"),
)

ANY_PROVIDER: Schema = {
    "type": "object",
    "if": {"properties": {"driver": {"enum": [OURS, None]}}},
    "then": PROVIDER,
    "else": {"properties": _ANY_PROVIDER, "required": ["name"]},
}

TENANT_LIMIT: Schema = {
    "description": "What the nodes of a tenant may use together; what is not named is not limited.",
    "type": "object",
    "properties": {
        "tenant-name": _needed_text("Name of the tenant."),
        "max-servers": _count("Most servers.", unit="servers"),
        **_LIMITS,
    },
    "required": ["tenant-name"],
    "patternProperties": {"^(?!max-|tenant)": _count("Most of a resource of that name.")},
    "additionalProperties": False,
}

NODEPOOL = _object(
    "Configuration of Nodepool.",
    {
        **ZOOKEEPER,
        "zookeeper-timeout": _value(
            "number",
            "Session time-out of ZooKeeper.",
            minimum=0.1,
            maximum=3600,
            default=10.0,
            **{"x-unit": "seconds"},
        ),
        "images-dir": _text("Where built images are kept. The builder needs it."),
        "elements-dir": _text("Where elements are looked for; several with colons between them."),
        "build-log-dir": _text("Where logs of builds are kept.", default="/var/log/nodepool/builds"),
        "build-log-retention": _count(
            "Logs to keep for each image; 0 acts as 1, -1 keeps all.", least=-1, unit="logs", default=7
        ),
        "webapp": _object(
            "The web service.",
            {
                "port": _value("integer", "TCP port.", default=8005, **_PORT),
                "listen_address": _text("Address to listen on.", default="127.0.0.1"),
            },
            type=["object", "null"],
        ),
        "max-hold-age": _seconds(
            "Held nodes are released after this; 0 or less switches it off.", least=-MOST_SECONDS, default=0
        ),
        "labels": _list("Labels that can be asked for.", LABEL),
        "diskimages": _list("Images that are built here.", DISKIMAGE),
        "providers": _list("Clouds to use.", ANY_PROVIDER),
        "tenant-resource-limits": _list("Limits for the nodes of one tenant.", TENANT_LIMIT),
    },
)

SECURE = _object(
    "secure.conf: the secrets. It replaces or completes what nodepool.yaml says.",
    {
        **ZOOKEEPER,
        **ZOOKEEPER_AUTH,
        "diskimages": _list(
            "Further environment of builds.",
            _object(
                "A diskimage of nodepool.yaml.",
                {"name": _needed_text("Name of a diskimage that is not abstract."), "env-vars": ENV_VARS},
                ("name",),
            ),
        ),
    },
)
