"""World files: what is written is read back equal, and what is wrong is refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.kernel.errors import ConfigError
from reconciler.simulator import PROJECT_ID, SECRET_KEY, World, WorldOptions, populate, worldfile
from reconciler.simulator.records import BlockVolume, FlexibleIp, Server
from tests.simulator.support import V1, Api

SERVER = '{"kind": "server", "id": "s1", "name": "w1"}\n'


def test_a_small_world_is_short_lines() -> None:
    world = worldfile.parse('# a comment\n\n{"kind": "server", "id": "s1", "name": "w1", "tags": ["a"]}\n')
    server = world.servers.get("s1")
    assert server is not None
    assert (server.zone, server.project, server.state, server.tags) == ("fr-par-1", PROJECT_ID, "running", ("a",))
    assert list(world.keys) == [SECRET_KEY]


def test_a_file_is_loaded_and_served(tmp_path: Path) -> None:
    file = tmp_path / "world.jsonl"
    file.write_text(
        SERVER + '{"kind": "ip", "id": "i1", "address": "51.15.0.9", "server": "s1", "state": "attached"}\n'
    )
    api = Api(worldfile.load(file))
    assert api.show("s1")["public_ip"]["address"] == "51.15.0.9"


def test_times_may_be_text() -> None:
    world = worldfile.parse(
        '{"kind": "server", "id": "s1", "name": "w", "created_ms": "2026-09-01T00:00:00Z", "updated_ms": 5}\n'
    )
    server = world.servers.get("s1")
    assert server is not None
    assert (server.created_ms, server.updated_ms) == (1_788_220_800_000, 5)


def test_user_data_is_text_or_base64() -> None:
    lines = '{"kind": "server", "id": "s1", "name": "w", "user_data": [["a", "text"], ["b", {"base64": "/w=="}]]}\n'
    server = worldfile.parse(lines).servers.get("s1")
    assert server is not None
    assert server.user_data == (("a", b"text"), ("b", b"\xff"))
    assert "text" not in repr(server)


@pytest.mark.parametrize(
    ("lines", "code", "line", "names"),
    [
        (SERVER + "{", "RC7001", 2, "not JSON"),
        ("[]", "RC7001", 1, "one JSON object"),
        ('{"kind": "sever", "id": "x"}', "RC7002", 1, "'sever'"),
        (SERVER + '{"kind": "ip", "id": "i", "adress": "x"}', "RC7003", 2, "'adress'"),
        ('{"kind": "server", "id": "x"}', "RC7004", 1, "name"),
        ('{"kind": "server", "id": "x", "name": 5}', "RC7004", 1, "name"),
        ('{"kind": "server", "id": "x", "name": "w", "tags": "a"}', "RC7004", 1, "tags"),
        ('{"kind": "server", "id": "x", "name": "w", "protected": 1}', "RC7004", 1, "protected"),
        ('{"kind": "server", "id": "x", "name": "w", "created_ms": "today"}', "RC7004", 1, "created_ms"),
        ('{"kind": "server", "id": "x", "name": "w", "slots": [{"key": "0"}]}', "RC7004", 1, "volume"),
        ('{"kind": "ip", "id": "i", "server": "nobody"}', "RC7005", 1, "nobody"),
        ('{"kind": "server", "id": "x", "name": "w", "slots": [{"key": "0", "volume": "v"}]}', "RC7005", 1, "v"),
        (SERVER + "\n" + SERVER, "RC7006", 3, "line 1"),
        ('{"kind": "transition", "due_ms": 1, "op": "x", "target": "y"}', "RC7004", 1, "op"),
        ('{"kind": "key", "secret": "s", "rights": []}', "RC7003", 1, "rights"),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_line(lines: str, code: str, line: int, names: str) -> None:
    with pytest.raises(ConfigError) as refused:
        worldfile.parse(lines, name="w.jsonl")
    assert (refused.value.code, refused.value.hint != "") == (code, True)
    assert refused.value.message.startswith(f"w.jsonl:{line}: ")
    assert names in refused.value.message


def test_a_file_that_cannot_be_read_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        worldfile.load(tmp_path / "absent.jsonl")
    assert refused.value.code == "RC7007"
    assert "absent.jsonl" in refused.value.message


def test_what_is_under_way_when_a_world_is_written_ends_when_it_is_read() -> None:
    api = Api()
    server = api.running(public_ips=[api.ip()["id"]])
    api.act(server["id"], "terminate")
    with api.simulator.editing() as world:
        text = worldfile.dump(world)
    later = Api(worldfile.parse(text))
    later.clock.advance(api.clock.monotonic() + 10)
    assert later.status("GET", f"{V1}/servers/{server['id']}") == 404
    assert later.get(f"{V1}/ips")["ips"][0]["state"] == "detached"


def test_a_generated_world_comes_back_equal() -> None:
    world = World(options=WorldOptions(ipam_id_differs=True, quotas=(("ip", 5),)))
    populate(world, servers=30, zones=("fr-par-1", "nl-ams-1"), tags=("a",))
    text = worldfile.dump(world)
    back = worldfile.parse(text)
    assert worldfile.dump(back) == text
    for kind, table in world.tables().items():
        assert list(back.tables()[kind]) == list(table), kind
    assert (back.keys, back.options) == (world.keys, world.options)


texts = st.text(max_size=20)
ids = st.uuids().map(str)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Servers with odd names, tags and user data, each perhaps with an address and a volume."""
    world = World()
    for server_id in draw(st.lists(ids, max_size=4, unique=True)):
        tags = tuple(draw(st.lists(texts, max_size=3)))
        data = tuple(sorted(draw(st.dictionaries(texts, st.binary(max_size=10), max_size=2)).items()))
        born = draw(st.integers(0, 2_000_000_000_000))
        world.add(
            Server(
                id=server_id,
                name=draw(texts),
                tags=tags,
                user_data=data,
                created_ms=born,
                updated_ms=born,
                state=draw(st.sampled_from(["running", "stopped", "stopped in place", "locked"])),
                protected=draw(st.booleans()),
            )
        )
        if draw(st.booleans()):
            world.add(FlexibleIp(id=draw(ids), server=server_id, address=draw(texts), tags=tags, attach_order=1))
        if draw(st.booleans()):
            world.add(BlockVolume(id=draw(ids), name=draw(texts), last_detached_ms=draw(st.none() | st.integers())))
    return world


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(worlds())
def test_any_world_survives_being_written_and_read(world: World) -> None:
    text = worldfile.dump(world)
    back = worldfile.parse(text)
    assert worldfile.dump(back) == text
    assert [list(table) for table in back.tables().values()] == [list(table) for table in world.tables().values()]


@given(worlds())
def test_a_world_file_is_one_json_object_a_line(world: World) -> None:
    """Names and tags may hold line separators that `splitlines` would break at."""
    for line in worldfile.dump(world).split("\n")[:-1]:
        assert isinstance(json.loads(line), dict)


@given(world=worlds())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_object_read_is_the_one_that_its_class_would_make(world: World) -> None:
    """Reading sets slots directly; no field may be forgotten, no default be another."""
    for table in worldfile.parse(worldfile.dump(world)).tables().values():
        for record in table:
            fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
            assert type(record)(**fields) == record


def test_a_line_with_more_than_one_value_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        worldfile.parse(SERVER.strip() + " {}")
    assert caught.value.code == "RC7001"


def test_a_kind_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        worldfile.parse('{"kind": ["server"], "id": "x"}')
    assert caught.value.code == "RC7002"
