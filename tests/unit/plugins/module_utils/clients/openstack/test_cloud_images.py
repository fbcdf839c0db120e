# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls about images, with the real SDK above a cloud in memory; bytes travel in the integration tests."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import cloud_images
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_images import (
    CloudImages,
    converted_to,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.disk_file import DiskFile
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.faults import error_from_answer
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.rest import ApiAnswer
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image, ImageSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudConflict,
    CloudError,
    CloudImageBroken,
    CloudRefused,
    CloudUnavailable,
    ImageFileError,
)

ID = "0b1e3a52-7f0d-4c53-9b0e-0d1c2b3a4f5e"
MARKS = {"nodepool_build_id": "b1", "nodepool_upload_id": "0000000001"}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def images(make_client, clock) -> CloudImages:
    made: CloudImages = make_client().images
    made._clock, made._sleeper = clock, clock.sleep
    return made


def shown(status: str = "active", **more: Any) -> dict[str, Any]:
    return {"id": ID, "name": "x-1", "status": status, "size": 3, **more}


@pytest.fixture
def file(tmp_path) -> DiskFile:
    (tmp_path / "x.raw").write_bytes(b"abc")
    return DiskFile(str(tmp_path / "x.raw"))


def test_what_an_image_is_made_of(cloud, images) -> None:
    cloud.on("POST", "/v2/images", (201, shown("queued")))
    given = {
        "min_disk": "5",
        "min_ram": "512",
        "protected": "True",
        "os": "linux",
        "name": "no",
        "visibility": "shared",
    }
    assert images.create(ImageSpec("x-1", "qcow2", given)) == ID
    assert cloud.seen[-1].body == {
        "name": "x-1",
        "disk_format": "qcow2",
        "container_format": "bare",
        "visibility": "shared",
        "min_disk": 5,
        "min_ram": 512,
        "protected": True,
        "os": "linux",
    }


def test_tags_are_tags_and_no_property(cloud, images) -> None:
    cloud.on("POST", "/v2/images", (201, shown("queued")))
    images.create(ImageSpec("x-1", "raw", {"os": "linux"}, tags=("ci", "zuul")))
    assert cloud.seen[-1].body["tags"] == ["ci", "zuul"]


class Glance:
    """Stands in for Rest: answers by method and path; bytes do not travel."""

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = answers
        self.seen: list[tuple[str, Any]] = []
        self.services: set[str] = set()

    def has(self, service: str) -> bool:
        return service in self.services

    def renew(self, seconds: float) -> None:
        pass

    def call(self, service: str, method: str, path: str, **options: Any) -> ApiAnswer:
        name = f"{method} {path.replace(ID, 'ID')}"
        self.seen.append((name, options.get("body")))
        queue = self.answers[name]
        status, document = queue.pop(0) if len(queue) > 1 else queue[0]
        if status >= 300:
            raise error_from_answer(provider="p1", call=name, status=status, body=json.dumps(document), headers={})
        return ApiAnswer(status, document, {})

    def count(self, name: str) -> int:
        return len([seen for seen, _body in self.seen if seen == name])


def glance(clock: Clock, answers: dict[str, list[Any]], **options: Any) -> tuple[CloudImages, Glance]:
    usual: dict[str, list[Any]] = {
        "PUT /images/ID/stage": [(204, None)],
        "POST /images/ID/import": [(202, None)],
        "GET /images/ID": [(200, shown("uploading")), (200, shown("importing")), (200, shown())],
    }
    rest = Glance(**usual | answers)
    return CloudImages("p1", rest, clock=clock, sleeper=clock.sleep, **options), rest  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("methods", "status", "imported"),
    [
        (["web-download", "glance-direct"], 403, True),
        (["web-download", "glance-direct"], 404, True),
        (["web-download", "glance-direct"], 405, True),
        (["web-download", "glance-direct"], 501, True),
        (["web-download"], 405, False),
        (None, 405, False),
        (["glance-direct"], 409, False),
        (["glance-direct"], 413, False),
    ],
)
def test_a_cloud_that_refuses_the_direct_way_gets_images_by_import(clock, file, methods, status, imported):
    info = (404, {"message": "no"}) if methods is None else (200, {"import-methods": {"value": methods}})
    answers: dict[str, list[Any]] = {
        "PUT /images/ID/file": [(status, {"message": "not this way"})],
        "GET /info/import": [info],
    }
    images, rest = glance(clock, answers)
    if not imported:
        with pytest.raises(CloudError, match="not this way"):
            images.fill(ID, file, clock.now + 60)
        assert rest.count("PUT /images/ID/stage") == 0
        return
    assert images.fill(ID, file, clock.now + 60).status == "active"
    assert ("POST /images/ID/import", {"method": {"name": "glance-direct"}}) in rest.seen
    images.fill(ID, file, clock.now + 60)
    assert rest.count("PUT /images/ID/file") == 1, "the client has learnt the way"


@pytest.mark.parametrize(
    ("swift", "status", "offered"),
    [(True, 200, True), (False, 200, False), (True, 403, False), (True, 404, False), (True, 501, False)],
)
def test_tasks_are_offered_by_a_cloud_with_an_object_store_that_lets_the_account_list_them(
    clock, swift, status, offered
) -> None:
    answer: dict[str, Any] = {"tasks": []} if status == 200 else {"message": "no"}
    images, rest = glance(clock, {"GET /tasks": [(status, answer)]})
    rest.services = {"object-store"} if swift else set()
    assert images.offers_tasks() is offered
    assert images.offers_tasks() is offered
    assert rest.count("GET /tasks") == swift, "the cloud is asked once"


def test_whether_tasks_are_offered_is_asked_again_after_a_trouble(clock) -> None:
    images, rest = glance(clock, {"GET /tasks": [(503, {"message": "later"}), (200, {"tasks": []})]})
    rest.services = {"object-store"}
    with pytest.raises(CloudUnavailable):
        images.offers_tasks()
    assert images.offers_tasks() is True


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"GET /images/ID": [(200, shown("queued"))]}, "is queued after its upload"),
        (
            {"GET /images/ID": [(200, shown("uploading", os_glance_failed_import="rbd"))]},
            "could not be imported into the store rbd",
        ),
        ({"POST /images/ID/import": [(409, {"message": "no staging"})]}, "no staging"),
        ({"PUT /images/ID/stage": [(403, {"message": "nor this"})]}, "nor this"),
    ],
)
def test_an_import_that_fails_is_told(clock, file, answers, said) -> None:
    images, _rest = glance(clock, answers, by_import=True)
    with pytest.raises(CloudError, match=said):
        images.fill(ID, file, clock.now + 60)


def test_an_import_without_an_answer_may_have_begun(clock, file) -> None:
    images, _rest = glance(clock, {"POST /images/ID/import": [(504, {"message": "slow proxy"})]}, by_import=True)
    assert images.fill(ID, file, clock.now + 60).status == "active"


def test_properties_of_the_vendor_and_format_of_the_entry(cloud, make_client, clouds_yaml) -> None:
    cloud.on("POST", "/v2/images", (201, shown("queued")))
    client = make_client(clouds_yaml(image_format="RAW", disable_vendor_agent={"agent": "no", "os": "theirs"}))
    client.images.create(ImageSpec("x-1", "raw", {"os": "linux"}))
    body = cloud.seen[-1].body
    assert (body["agent"], body["os"], body["visibility"]) == ("no", "linux", "private")
    assert client.image_format == "raw"
    assert make_client().image_format == "qcow2"


@pytest.mark.parametrize(("value", "sent"), [(False, "False"), (True, "True"), ("false", "false"), (0, "0")])
def test_a_property_of_the_entry_is_sent_as_a_text(cloud, make_client, clouds_yaml, value, sent) -> None:
    """glance refuses a property that is no text, and the agents of Rackspace know "False" only."""
    cloud.on("POST", "/v2/images", (201, shown("queued")))
    make_client(clouds_yaml(disable_vendor_agent={"xenapi_use_agent": value})).images.create(
        ImageSpec("x-1", "raw", {})
    )
    assert cloud.seen[-1].body["xenapi_use_agent"] == sent


def test_uploads_by_tasks_need_an_object_store(cloud, make_client, clouds_yaml, file) -> None:
    client = make_client(clouds_yaml(image_api_use_tasks=True))
    assert client.images.uses_tasks
    with pytest.raises(CloudRefused, match=r"has image_api_use_tasks.* no object store .*set it to false"):
        client.images.import_file(ImageSpec("x-1", "raw"), file, "place", 1e9, lambda: None)


def test_an_imported_image_gets_all_but_its_formats_in_one_change_that_may_be_repeated(clock) -> None:
    patch = "PATCH /images/ID"
    images, rest = glance(clock, {patch: [(503, {"message": "later"}), (200, shown())]}, by_tasks=True)
    spec = ImageSpec("x-1", "vhd", {"a/b~c": "1", "min_disk": "5"}, tags=("ci",))
    assert images.describe(ID, spec).id == ID
    assert rest.count(patch) == 2
    changes = {change["path"]: change["value"] for change in rest.seen[-1][1]}
    assert changes == {"/a~1b~0c": "1", "/min_disk": 5, "/tags": ["ci"], "/name": "x-1", "/visibility": "private"}
    assert {change["op"] for change in rest.seen[-1][1]} == {"add"}


def test_images_are_found_by_their_marks_only(cloud, images) -> None:
    good, other = shown(**MARKS), shown(**{**MARKS, "nodepool_upload_id": "0000000002"})
    cloud.on("GET", "/v2/images", (200, {"images": [good, {**other, "id": "i2"}, {**shown(), "id": "i3"}]}))
    assert [image.id for image in images.find(MARKS)] == [ID]
    assert cloud.seen[-1].query["owner"] == ["proj"]
    assert cloud.seen[-1].query["nodepool_upload_id"] == ["0000000001"]


@pytest.mark.parametrize("status", [404, 410])
def test_an_image_that_is_gone_need_not_be_deleted(cloud, images, status) -> None:
    cloud.on("DELETE", f"/v2/images/{ID}", (204, ""), (status, {"message": "gone"}), (409, {"message": "in use"}))
    assert images.delete(ID) is True
    assert images.delete(ID) is False
    with pytest.raises(CloudConflict, match="in use"):
        images.delete(ID)


def test_waiting_for_an_image_that_takes_a_while(cloud, images, clock) -> None:
    cloud.on(
        "GET",
        f"/v2/images/{ID}",
        (200, shown("saving")),
        (503, {"message": "later"}),
        (200, shown("queued")),
        (200, shown()),
    )
    assert images._wait(ID, clock.now + 60, sure=True).status == "active"
    assert clock.pauses == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("answers", "sure", "kind", "said"),
    [
        ([(200, shown("killed"))], True, CloudImageBroken, f"image {ID} is killed after its upload"),
        ([(404, {"message": "no"})], True, CloudImageBroken, f"image {ID} is gone after its upload"),
        ([(200, shown("queued"))], False, CloudImageBroken, f"image {ID} is queued after its upload"),
        ([(200, shown("saving"))], True, CloudUnavailable, f"image {ID} is still saving"),
        ([(500, {"message": "broken"})], True, CloudUnavailable, "500: broken"),
    ],
)
def test_waiting_in_vain(cloud, images, clock, answers, sure, kind, said) -> None:
    cloud.on("GET", f"/v2/images/{ID}", *answers)
    with pytest.raises(kind, match=said):
        images._wait(ID, clock.now + 20, sure=sure)
    assert clock.now <= 120.0


def test_there_is_no_time_left_to_begin(images, clock, file) -> None:
    with pytest.raises(CloudUnavailable, match="it could not start in time"):
        images.fill(ID, file, clock.now + 0.5)


def image(**properties: str) -> Image:
    return Image(ID, "x-1", "active", properties, size=3)


def test_what_glance_tells_is_compared(images, file) -> None:
    md5, sha512 = hashlib.md5(b"abc").hexdigest(), hashlib.sha512(b"abc").hexdigest()
    both = {"checksum": md5, "os_hash_algo": "sha512", "os_hash_value": sha512}
    assert images.verify(image(**both), file, {"md5": md5}) == ["size", "md5"]
    assert images.verify(image(**both), file, {}) == ["size", "md5"]
    strong = {"os_hash_algo": "sha512", "os_hash_value": sha512}
    assert images.verify(image(**strong), file, {"md5": md5}) == ["size", "sha512"], (
        "computed, as there is nothing else"
    )
    assert images.verify(image(), file, {"md5": md5}) == ["size"]
    assert images.verify(image(os_hash_algo="unheard-of", os_hash_value="1"), file, {}) == ["size"]
    with pytest.raises(CloudImageBroken, match="has the sha512 00, but"):
        images.verify(image(os_hash_algo="sha512", os_hash_value="00"), file, {})
    with pytest.raises(CloudImageBroken, match="has 4 bytes, but"):
        images.verify(Image(ID, "x-1", "active", {}, size=4), file, {})


def test_a_file_that_was_changed_after_its_build_is_told_as_that(images, file) -> None:
    """Its checksum files are those of the build. It is no conversion, and no fault of the cloud."""
    sent = {"checksum": hashlib.md5(b"abc").hexdigest()}
    told = r"was changed after its build: its md5 is 900150983cd24fb0d6963f7d28e17f72, and it was built with 11: build"
    with pytest.raises(ImageFileError, match=told):
        images.verify(image(**sent), file, {"md5": "11"}, "raw")
    with pytest.raises(CloudImageBroken, match="has the md5 22, but"):
        images.verify(image(checksum="22"), file, {"md5": sent["checksum"]}, "raw")
    images._converts = True
    assert images.verify(image(**sent), file, {"md5": "11"}, "raw") == []


def test_a_converted_image_is_not_compared(images, file) -> None:
    other = Image(ID, "x-1", "active", {"disk_format": "raw", "checksum": "00"}, size=900)
    assert images.verify(other, file, {"md5": "11"}, "qcow2") == []
    assert converted_to(other, "qcow2") == "raw" and converted_to(other, "raw") == ""
    with pytest.raises(CloudImageBroken, match="has 900 bytes, but"):
        images.verify(other, file, {"md5": "11"}, "raw")
    assert images.verify(image(), file, {}, "raw") == ["size"], "glance that names no format has not converted it"


def test_where_the_entry_says_that_images_are_written_anew_nothing_must_be_equal(images, file) -> None:
    rewritten = Image(ID, "x-1", "active", {"disk_format": "qcow2", "checksum": "00"}, size=900)
    with pytest.raises(CloudImageBroken, match=r"has 900 bytes, but .*set image_api_converts to true"):
        images.verify(rewritten, file, {"md5": "11"}, "qcow2")
    images._converts = True
    assert images.verify(rewritten, file, {"md5": "11"}, "qcow2") == []
    assert images.verify(Image(ID, "x-1", "active", {"checksum": "00"}, size=3), file, {"md5": "11"}, "qcow2") == []
    assert images.verify(image(), file, {}, "qcow2") == ["size"], "what is equal is told all the same"


@pytest.mark.parametrize("converts", [False, True])
def test_an_image_without_data_is_broken_in_any_case(images, file, converts) -> None:
    images._converts = converts
    for disk_format in ("raw", "qcow2"):
        with pytest.raises(CloudImageBroken, match="has no data"):
            images.verify(Image(ID, "x-1", "active", {"disk_format": "raw"}, size=0), file, {}, disk_format)


@pytest.mark.parametrize(
    ("value", "on"), [(True, True), ("true", True), ("yes", True), (False, False), ("false", False), (None, False)]
)
def test_the_option_of_an_entry(make_client, clouds_yaml, value, on) -> None:
    client = make_client(clouds_yaml(image_api_converts=value, image_api_use_import=value))
    assert (client.images._converts, client.images._by_import) == (on, on)


def test_a_token_that_would_not_last_is_replaced(cloud, make_client, monkeypatch) -> None:
    cloud.on("GET", f"/v2/images/{ID}", (200, shown()))
    client = make_client()
    client.images.get(ID)
    client._rest.renew(3600)
    client.images.get(ID)
    assert cloud.tokens == 1
    client._rest.renew(100 * 365 * 86400)
    client.images.get(ID)
    assert cloud.tokens == 2


def test_images_beyond_the_first_page_are_found(cloud, images, monkeypatch) -> None:
    monkeypatch.setattr(cloud_images, "PAGE", 2)
    first = [{**shown(), "id": ident, **MARKS} for ident in ("a", "b")]
    cloud.on("GET", "/v2/images", (200, {"images": first}), (200, {"images": [{**shown(), "id": "c", **MARKS}]}))
    assert [image.id for image in images.find(MARKS)] == ["a", "b", "c"]
    assert cloud.seen[-1].query["marker"] == ["b"]
