"""Writing tags without losing anybody's."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from reconciler.cloud.tags import is_own, set_tags
from reconciler.kernel.errors import CloudError, ReconcilerError, RefusedError
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.resources import Kind, Ref, Resource
from tests.cloud.wire import (
    PROJECT,
    STRANGER,
    ZONE,
    Json,
    Recorder,
    denied,
    ip,
    local_volume,
    make_api,
    nic,
    not_found,
    reply,
    server,
    throttled,
    uid,
    volume,
)

REF = Ref(Kind.SERVER, ZONE, uid(1))
PATH = f"/instance/v1/zones/{ZONE}/servers/{uid(1)}"
OURS = ("user", "reconciler", "reconciler:fleet=linux")


class Tagged:
    """One object with tags, whose PATCH can go wrong in every way."""

    def __init__(self, tags: list[str], **changes: Any) -> None:
        self.tags, self.changes = tags, changes
        self.patches: list[list[str]] = []
        self.answers: list[Any] = []  # before the real answer: a response, an exception, or ("after", exception)
        self.between: list[Any] = []  # what a stranger does before the n-th PATCH

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "PATCH":
            self.patches.append(json.loads(request.content)["tags"])
            answer = self.answers.pop(0) if self.answers else None
            if isinstance(answer, tuple):
                self.tags = self.patches[-1]
                raise answer[1]
            if self.between:
                self.tags = self.between.pop(0)
            if isinstance(answer, Exception):
                raise answer
            if isinstance(answer, httpx2.Response):
                return answer
            self.tags = self.patches[-1]
        return reply({"server": server(1, tags=self.tags, **self.changes)})


def put(world: Any, tags: tuple[str, ...], expected: tuple[str, ...], ref: Ref = REF) -> Resource:
    api = make_api(world)
    return set_tags(api, ref, tags, expected=expected, project=PROJECT, randomness=SeededRandomness(1))


def code(world: Any, tags: tuple[str, ...], expected: tuple[str, ...]) -> str:
    with pytest.raises(ReconcilerError) as caught:
        put(world, tags, expected)
    return caught.value.code


def test_the_whole_list_is_replaced_and_returned_as_read_back() -> None:
    world = Tagged(["user"])
    found = put(world, OURS, ("user",))
    assert world.patches == [list(OURS)]
    assert found.tags == OURS


def test_tags_that_are_already_there_are_not_written() -> None:
    world = Tagged(list(OURS))
    put(world, OURS, ("user",))
    assert world.patches == []


def test_tags_that_moved_since_the_decision_are_not_written() -> None:
    world = Tagged(["user", "urgent"])
    assert code(world, OURS, ("user",)) == "RC0420"
    assert world.patches == []


def test_another_order_is_the_same_list() -> None:
    world = Tagged(["b", "a"])
    put(world, ("a", "b", "reconciler"), ("a", "b"))
    assert len(world.patches) == 1


@pytest.mark.parametrize("lost", ["user", "Reconciler", "reconciler-x", "reconcilers:fleet=x", " reconciler"])
def test_a_strangers_tag_is_never_dropped_whoever_asks(lost: str) -> None:
    world = Tagged([lost])
    with pytest.raises(RefusedError) as caught:
        put(world, ("reconciler",), (lost,))
    assert caught.value.code == "RC0421"
    assert world.patches == []


def test_tags_of_our_own_can_be_taken_away() -> None:
    world = Tagged(list(OURS))
    assert put(world, ("user",), OURS).tags == ("user",)


def test_our_own_tags_are_exactly_ours() -> None:
    assert [tag for tag in (*OURS, "RECONCILER", "reconciler=x") if is_own(tag)] == list(OURS[1:])


@pytest.mark.parametrize("first", [throttled(), reply({}, 503), httpx2.ReadTimeout("late"), httpx2.ConnectError("no")])
def test_a_write_that_took_no_effect_is_tried_again_after_a_read(first: Any) -> None:
    world = Tagged(["user"])
    world.answers = [first]
    assert put(world, OURS, ("user",)).tags == OURS
    assert len(world.patches) == 2


def test_a_write_whose_answer_was_lost_is_not_repeated() -> None:
    world = Tagged(["user"])
    world.answers = [("after", httpx2.ReadTimeout("late"))]
    put(world, OURS, ("user",))
    assert len(world.patches) == 1


def test_a_stranger_who_writes_during_a_failed_try_is_not_overwritten() -> None:
    world = Tagged(["user"])
    world.answers, world.between = [reply({}, 503)], [["user", "urgent"]]
    assert code(world, OURS, ("user",)) == "RC0420"
    assert (len(world.patches), world.tags) == (1, ["user", "urgent"])


def test_three_tries_are_all() -> None:
    world = Tagged(["user"])
    world.answers = [reply({}, 503)] * 9
    assert code(world, OURS, ("user",)) == "RC0423"
    assert len(world.patches) == 3


@pytest.mark.parametrize("status", [400, 403, 409, 412])
def test_a_refusal_is_final(status: int) -> None:
    world = Tagged(["user"])
    world.answers = [reply({"type": "x"}, status)]
    assert code(world, OURS, ("user",)) == "RC0423"
    assert len(world.patches) == 1


def test_an_accepted_write_that_is_not_there_is_an_error() -> None:
    world = Tagged(["user"])
    world.answers = [reply({"server": server(1, tags=list(OURS))})]
    assert code(world, OURS, ("user",)) == "RC0424"


@pytest.mark.parametrize("answer", [denied(), not_found("instance_server", uid(1)), reply({}, 500)])
def test_what_cannot_be_read_is_not_written(answer: httpx2.Response) -> None:
    seen = Recorder(default=answer)
    with pytest.raises(CloudError) as caught:
        put(seen, OURS, ("user",))
    assert caught.value.code == "RC0422"
    assert seen.sent("PATCH") == []


def test_an_object_of_another_project_is_not_written() -> None:
    world = Tagged(["user"], project=STRANGER)
    assert code(world, OURS, ("user",)) == "RC0425"
    assert world.patches == []


B, V1, V2 = f"/block/v1/zones/{ZONE}", f"/instance/v1/zones/{ZONE}", f"/instance/v2alpha1/zones/{ZONE}"
WAYS: list[tuple[Kind, str, Json]] = [
    (Kind.IP, f"{V1}/ips", {"ip": ip(1)}),
    (Kind.VOLUME, f"{B}/volumes", volume(1)),
    (Kind.INSTANCE_VOLUME, f"{V1}/volumes", {"volume": local_volume(1)}),
    (Kind.NIC, f"{V2}/private-network-interfaces", nic(1)),
]


@pytest.mark.parametrize(("kind", "path", "body"), WAYS)
def test_each_kind_is_written_by_its_own_api(kind: Kind, path: str, body: Json) -> None:
    written: list[str] = []
    inner = next((value for value in body.values() if isinstance(value, dict) and "id" in value), body)

    def world(request: httpx2.Request) -> httpx2.Response:
        if request.method == "PATCH":
            assert json.loads(request.content) == {"tags": ["reconciler"]}
            written.append(request.url.path)
        tags = ["reconciler"] if written else []
        whole = {"tags": tags} if inner is body else {next(iter(body)): {**inner, "tags": tags}}
        return reply({**body, **whole})

    put(world, ("reconciler",), (), Ref(kind, ZONE, uid(1)))
    assert written == [f"{path}/{uid(1)}"]
