"""A create is answered when its body equals the inventory, and when anything in it does not, it is not."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import UnreadError
from reconciler.engine.adoption.proofs.shared import NotProvedError
from reconciler.model.resources import Kind, Ref
from reconciler.model.state import SECRET
from tests.engine.adoption_cloud import (
    GB,
    GROUP,
    IMAGE,
    INSTANCE,
    IP,
    OTHER_IP,
    PAIRS,
    SERVER,
    SERVER_PAIR,
    ZONE,
    Cloud,
    book,
    cloud,
    create,
    expect,
    item,
    paths_of,
    send,
    server,
)
from tests.engine.fakes import uuid_of


@pytest.mark.parametrize("kind", PAIRS)
class TestEveryKind:
    def test_an_equal_create_is_answered_with_the_live_object(self, kind: str) -> None:
        there = cloud()
        reply = create(PAIRS[kind], PAIRS[kind].body, there=there)
        assert reply.status in (200, 201)
        assert json.loads(reply.body) in there.objects.values()

    def test_an_equal_create_is_answered_once(self, kind: str) -> None:
        expected = book(item(PAIRS[kind]))
        create(PAIRS[kind], PAIRS[kind].body, expected=expected)
        with pytest.raises(NotProvedError):
            create(PAIRS[kind], PAIRS[kind].body, expected=expected)

    def test_a_key_that_nobody_compares_is_a_difference(self, kind: str) -> None:
        with pytest.raises(NotProvedError) as caught:
            create(PAIRS[kind], {**PAIRS[kind].body, "surprise": None})
        assert paths_of(caught) == ["surprise"]

    def test_a_key_that_occurs_twice_is_no_body(self, kind: str) -> None:
        text = json.dumps(PAIRS[kind].body)
        with pytest.raises(NotProvedError):
            create(PAIRS[kind], (text[:-1] + ', "tags": []}').encode())

    def test_an_object_that_is_gone_is_named(self, kind: str) -> None:
        with pytest.raises(NotProvedError) as caught:
            create(PAIRS[kind], PAIRS[kind].body, there=Cloud())
        assert PAIRS[kind].ref.id in caught.value.differences[0].program

    def test_an_object_that_cannot_be_read_proves_nothing(self, kind: str) -> None:
        there = cloud()
        there.errors = dict.fromkeys(there.objects, 403)
        with pytest.raises(UnreadError):
            create(PAIRS[kind], PAIRS[kind].body, there=there)

    def test_the_proof_is_of_what_is_there_now(self, kind: str) -> None:
        """What was read before only chooses among targets."""
        there, expected = cloud(), book(item(PAIRS[kind]))
        with pytest.raises(NotProvedError):
            create(PAIRS[kind], {**PAIRS[kind].body, "tags": ["other"]}, there=there, expected=expected)
        for path, found in there.objects.items():
            there.objects[path] = (
                json.loads(json.dumps(found).replace('["a"', '["other"')) if isinstance(found, dict) else found
            )
        with pytest.raises(NotProvedError):
            create(PAIRS[kind], PAIRS[kind].body, there=there, expected=expected)

    def test_the_same_create_in_another_place_has_no_target(self, kind: str) -> None:
        pair = PAIRS[kind]
        path = re.sub(
            r"(zones/)[^/]+|(regions/)[^/]+", lambda found: f"{found[1] or found[2]}nl-ams-1", pair.method_path
        )
        with pytest.raises(NotProvedError):
            send("POST", path, pair.body, there=cloud(), expected=book(item(pair)))

    def test_two_targets_that_one_create_equals_are_ambiguous(self, kind: str) -> None:
        """Which of two equal things belongs to which URN cannot be told from a body."""
        pair, there = PAIRS[kind], cloud()
        twin = uuid_of(99)
        for path in list(there.objects):
            if pair.ref.id in path:
                there.objects[path.replace(pair.ref.id, twin)] = there.objects[path]
        other = Expectation(urn="other", ref=Ref(pair.ref.kind, pair.ref.zone, twin), inputs=pair.inputs)
        with pytest.raises(NotProvedError) as caught:
            create(pair, pair.body, there=there, expected=book(item(pair), other))
        assert len(caught.value.differences) == 2


def _leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(part, (*place, key))
    else:
        yield place


def _put(body: Any, place: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(dict(body))
    inside = changed
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return changed


_SCALAR = st.none() | st.booleans() | st.integers(-5, 10**12) | st.text(max_size=12)
_JSON = st.recursive(
    _SCALAR, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part), max_leaves=4
)


@pytest.mark.parametrize("kind", PAIRS)
@given(data=st.data())
def test_whatever_is_put_in_the_place_of_one_value_is_refused(kind: str, data: st.DataObject) -> None:
    """Unless it is the same value, or nothing at all where nothing means the same."""
    pair = PAIRS[kind]
    place = data.draw(st.sampled_from(list(_leaves(pair.body))))
    value = data.draw(_JSON)
    old: Any = pair.body
    for key in place:
        old = old[key]
    if (value == old and type(value) is type(old)) or (value in (None, "", []) and place[-1] in pair.optional):
        return
    if isinstance(value, str) and isinstance(old, str) and value.upper() == old.upper():
        return
    with pytest.raises(NotProvedError):
        create(pair, _put(pair.body, place, value))


class TestServer:
    def refused(self, **changes: Any) -> list[str]:
        with pytest.raises(NotProvedError) as caught:
            create(SERVER_PAIR, {**SERVER_PAIR.body, **changes})
        return paths_of(caught)

    def without(self, *keys: str) -> dict[str, Any]:
        return {key: value for key, value in SERVER_PAIR.body.items() if key not in keys}

    def test_ips_are_compared_in_the_order_of_attachment(self) -> None:
        assert self.refused(public_ips=[OTHER_IP, IP]) == ["ipIds"]

    def test_a_machine_with_an_ip_more_is_another_machine(self) -> None:
        assert self.refused(public_ips=[IP]) == ["ipIds"]

    def test_a_dynamic_ip_is_no_flexible_one(self) -> None:
        there = cloud()
        found = there.objects[f"{INSTANCE}/servers/{SERVER}"]["server"]
        found["public_ips"] = [{"id": uuid_of(50), "dynamic": True}]
        found["dynamic_ip_required"] = True
        body = {**self.without("public_ips"), "dynamic_ip_required": True}
        assert create(SERVER_PAIR, body, there=there).status == 201

    def test_tags_are_compared_in_order(self) -> None:
        assert self.refused(tags=["b", "a"]) == ["tags"]

    def test_the_type_is_compared_without_regard_to_case(self) -> None:
        assert create(SERVER_PAIR, {**SERVER_PAIR.body, "commercial_type": "dev1-s"}).status == 201

    def test_another_image_version_of_the_same_label_is_another_image(self) -> None:
        assert self.refused(image=uuid_of(51)) == ["image"]

    def test_a_volume_in_another_slot_is_another_volume(self) -> None:
        volumes = SERVER_PAIR.body["volumes"]
        assert self.refused(volumes={"0": volumes["0"], "2": volumes["1"]}) == ["additionalVolumeIds"]

    def test_a_volume_more_is_named(self) -> None:
        more = {"id": uuid_of(52), "volume_type": "sbs_volume"}
        assert self.refused(volumes={**SERVER_PAIR.body["volumes"], "2": more}) == ["additionalVolumeIds"]

    def test_a_volume_fewer_is_named(self) -> None:
        assert self.refused(volumes={"0": SERVER_PAIR.body["volumes"]["0"]}) == ["additionalVolumeIds"]

    def test_the_size_of_an_sbs_root_is_read_from_block_storage(self) -> None:
        volumes = SERVER_PAIR.body["volumes"]
        with pytest.raises(NotProvedError) as caught:
            create(SERVER_PAIR, {**SERVER_PAIR.body, "volumes": {**volumes, "0": {**volumes["0"], "size": 30 * GB}}})
        assert [(d.path, d.program, d.cloud) for d in caught.value.differences] == [
            ("rootVolume.sizeInGb", "30 GB", "20 GB")
        ]

    def test_a_root_without_a_size_takes_what_its_image_gave(self) -> None:
        volumes = {**SERVER_PAIR.body["volumes"], "0": {"boot": False}}
        assert create(SERVER_PAIR, {**SERVER_PAIR.body, "volumes": volumes}).status == 201

    def test_no_security_group_means_the_projects_default(self) -> None:
        assert create(SERVER_PAIR, self.without("security_group")).status == 201

    def test_no_security_group_is_not_any_security_group(self) -> None:
        there = cloud()
        there.objects[f"{INSTANCE}/security_groups/{GROUP}"]["security_group"]["project_default"] = False
        with pytest.raises(NotProvedError) as caught:
            create(SERVER_PAIR, self.without("security_group"), there=there)
        assert paths_of(caught) == ["securityGroupId"]

    @pytest.mark.parametrize(
        ("key", "path"),
        [
            ("placement_group", "placementGroupId"),
            ("protected", "protected"),
            ("tags", "tags"),
            ("project", "projectId"),
        ],
    )
    def test_what_the_program_does_not_say_must_not_be_there(self, key: str, path: str) -> None:
        with pytest.raises(NotProvedError) as caught:
            create(SERVER_PAIR, self.without(key))
        assert paths_of(caught) == [path]

    def test_a_made_up_name_is_not_compared_where_the_program_has_none(self) -> None:
        expected = book(expect("w0", SERVER_PAIR.ref))
        body = {**SERVER_PAIR.body, "name": "tf-srv-brave-curie"}
        assert create(SERVER_PAIR, body, expected=expected).status == 201

    def test_a_made_up_name_is_compared_where_the_program_has_one(self) -> None:
        assert self.refused(name="tf-srv-brave-curie") == ["name"]

    def test_a_name_of_an_earlier_run_is_offered_to_be_used_again(self) -> None:
        expected = book(expect("w0", SERVER_PAIR.ref, auto_named=True, name="w0-1a2b3c4"))
        there = cloud()
        there.objects[f"{INSTANCE}/servers/{SERVER}"]["server"]["name"] = "w0-9f8e7d6"
        with pytest.raises(NotProvedError):
            create(SERVER_PAIR, {**SERVER_PAIR.body, "name": "w0-1a2b3c4"}, there=there, expected=expected)
        assert expected.names == {expect("w0", SERVER_PAIR.ref).urn: "w0-9f8e7d6"}

    @pytest.mark.parametrize("name", ["somebody-elses", "w0-${hex(4)}"])
    def test_a_name_that_pulumi_cannot_have_made_is_not_offered(self, name: str) -> None:
        expected = book(expect("w0", SERVER_PAIR.ref, auto_named=True, name="w0-1a2b3c4"))
        there = cloud()
        there.objects[f"{INSTANCE}/servers/{SERVER}"]["server"]["name"] = name
        with pytest.raises(NotProvedError):
            create(SERVER_PAIR, {**SERVER_PAIR.body, "name": "w0-1a2b3c4"}, there=there, expected=expected)
        assert expected.names == {}

    def test_a_name_is_not_offered_beside_another_difference(self) -> None:
        expected = book(expect("w0", SERVER_PAIR.ref, auto_named=True, name="w0-1a2b3c4"))
        with pytest.raises(NotProvedError):
            create(SERVER_PAIR, {**SERVER_PAIR.body, "name": "w0-1", "tags": []}, expected=expected)
        assert expected.names == {}

    def test_each_of_several_servers_finds_its_own(self) -> None:
        there, twin = cloud(), uuid_of(60)
        there.objects[f"{INSTANCE}/servers/{twin}"] = {"server": {**server(), "id": twin, "name": "w1"}}
        expected = book(expect("w1", Ref(Kind.SERVER, ZONE, twin), name="w1"), expect("w0", SERVER_PAIR.ref, name="w0"))
        first = create(SERVER_PAIR, SERVER_PAIR.body, there=there, expected=expected)
        second = create(SERVER_PAIR, {**SERVER_PAIR.body, "name": "w1"}, there=there, expected=expected)
        assert [json.loads(reply.body)["server"]["id"] for reply in (first, second)] == [SERVER, twin]

    def test_a_secret_tag_is_masked_on_both_sides(self) -> None:
        expected = book(expect("w0", SERVER_PAIR.ref, name="w0", tags=["a", SECRET]))
        with pytest.raises(NotProvedError) as caught:
            create(SERVER_PAIR, {**SERVER_PAIR.body, "tags": ["a", "hunter2"]}, expected=expected)
        (difference,) = caught.value.differences
        assert (difference.program, difference.cloud) == ("[secret]", "another [secret]")


def test_the_image_of_the_pair_is_what_the_server_runs() -> None:
    """The fixture is worth nothing if it does not hold what it says."""
    assert server()["image"] == {"id": IMAGE}
