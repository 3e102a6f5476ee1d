"""The gate of an adoption as a server: it answers, it refuses, and nothing that changes anything reaches the API."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.engine.adoption.book import Book
from reconciler.engine.adoption.gate import REFUSED_STATUS, AdoptionGate
from reconciler.engine.gate_bodies import read_body
from tests.engine.adoption_cloud import (
    BLOCK,
    INSTANCE,
    NIC,
    PAIRS,
    ROOT,
    SERVER,
    SERVER_PAIR,
    Cloud,
    book,
    cloud,
    expect,
)
from tests.engine.fakes import uuid_of
from tests.engine.http_api import Api, serving

TOKEN = {"X-Auth-Token": "the-token"}


class Stage:
    """A gate before an API that holds a cloud."""

    def __init__(self, api: Api, there: Cloud, expected: Book) -> None:
        self.api, self.cloud, self.book = api, there, expected

    def client(self) -> AdoptionGate:
        return AdoptionGate(self.api.url, self.book)


@pytest.fixture
def stage() -> Iterator[Stage]:
    there = cloud()

    def answer(handler: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        return (
            there.answer(handler.path) if handler.headers.get("X-Auth-Token") == TOKEN["X-Auth-Token"] else (401, b"")
        )

    with serving(answer) as api:
        yield Stage(api, there, book(expect("w0", SERVER_PAIR.ref, name="w0"), nics=[NIC]))


def test_an_equal_create_is_answered_and_the_api_sees_reads_alone(stage: Stage) -> None:
    with stage.client() as gate:
        answer = httpx2.post(gate.url + SERVER_PAIR.method_path, json=dict(SERVER_PAIR.body), headers=TOKEN)
    assert (answer.status_code, answer.json()["server"]["id"]) == (201, SERVER)
    assert {method for method, _ in stage.api.seen} == {"GET"}
    assert (stage.book.differences, stage.book.unread) == ((), ())


def test_a_proof_reads_with_the_token_of_the_call(stage: Stage) -> None:
    with stage.client() as gate:
        answer = httpx2.post(
            gate.url + SERVER_PAIR.method_path, json=dict(SERVER_PAIR.body), headers={"X-Auth-Token": "no"}
        )
    assert answer.status_code == REFUSED_STATUS
    assert "401" in stage.book.unread[0]


def test_a_read_passes(stage: Stage) -> None:
    with stage.client() as gate:
        answer = httpx2.get(f"{gate.url}{INSTANCE}/servers/{SERVER}", headers=TOKEN)
    assert answer.json()["server"]["id"] == SERVER


_PATHS = st.sampled_from(
    [
        SERVER_PAIR.method_path,
        f"{INSTANCE}/servers/{SERVER}",
        f"{INSTANCE}/servers/{SERVER}/action",
        f"{INSTANCE}/servers/{SERVER}/user_data/cloud-init",
        f"{INSTANCE}/servers/{SERVER}/attach-volume",
        f"{INSTANCE}/ips/{uuid_of(14)}",
        f"{BLOCK}/volumes/{ROOT}",
        f"{INSTANCE}/servers/../servers",
        "/",
        "/metadata",
        *(pair.method_path for pair in PAIRS.values()),
    ]
)


@settings(deadline=None, max_examples=60)
@given(
    method=st.sampled_from(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
    path=_PATHS,
    query=st.sampled_from(["", "?force=true", "?"]),
    body=st.binary(max_size=200)
    | st.dictionaries(st.text(max_size=5), st.integers()).map(lambda d: json.dumps(d).encode()),
)
def test_whatever_is_sent_nothing_changing_reaches_the_api(method: str, path: str, query: str, body: bytes) -> None:
    there = cloud()
    with serving(lambda handler: there.answer(handler.path)) as api:
        with AdoptionGate(api.url, book(expect("w0", SERVER_PAIR.ref, name="w0"))) as gate:
            answer = httpx2.request(method, f"{gate.url}{path}{query}", content=body, headers=TOKEN)
        assert answer.status_code == REFUSED_STATUS
        assert {seen for seen, _ in api.seen} <= {"GET"}


def test_a_create_with_a_query_is_none_that_is_known(stage: Stage) -> None:
    with stage.client() as gate:
        answer = httpx2.post(f"{gate.url}{SERVER_PAIR.method_path}?x=1", json=dict(SERVER_PAIR.body), headers=TOKEN)
    assert answer.status_code == REFUSED_STATUS
    assert stage.book.differences[0].path == f"POST {SERVER_PAIR.method_path}"


def test_user_data_in_chunks_is_compared_whole(stage: Stage) -> None:
    def parts() -> Iterator[bytes]:
        yield b"#cloud"
        yield b"-config\n"

    with stage.client() as gate:
        httpx2.post(gate.url + SERVER_PAIR.method_path, json=dict(SERVER_PAIR.body), headers=TOKEN)
        path = f"{gate.url}{INSTANCE}/servers/{SERVER}/user_data/cloud-init"
        answer = httpx2.patch(path, content=parts(), headers=TOKEN)
    assert answer.status_code == 204


def test_a_body_over_the_bound_is_refused_and_the_connection_closed(stage: Stage) -> None:
    with stage.client() as gate:
        host, port = gate.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=5) as wire:
            wire.sendall(f"POST {SERVER_PAIR.method_path} HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n".encode())
            said = wire.makefile("rb").read()
    assert said.startswith(b"HTTP/1.1 409")
    assert b"Connection: close" in said


def test_an_inventory_that_answers_nonsense_proves_nothing(stage: Stage) -> None:
    stage.cloud.objects[f"{INSTANCE}/servers/{SERVER}"] = {"server": {"volumes": 7, "public_ips": 7}}
    with stage.client() as gate:
        answer = httpx2.post(gate.url + SERVER_PAIR.method_path, json=dict(SERVER_PAIR.body), headers=TOKEN)
    assert answer.status_code == REFUSED_STATUS
    assert stage.book.unread or stage.book.differences


class TestAtTheEnd:
    def run(self, stage: Stage, *, user_data: bool = True) -> None:
        with stage.client() as gate:
            httpx2.post(gate.url + SERVER_PAIR.method_path, json=dict(SERVER_PAIR.body), headers=TOKEN)
            if user_data:
                path = f"{gate.url}{INSTANCE}/servers/{SERVER}/user_data/cloud-init"
                httpx2.patch(path, content=b"#cloud-config\n", headers=TOKEN)
            gate.settle()

    def paths(self, stage: Stage) -> list[str]:
        return [difference.path for difference in stage.book.differences]

    def test_a_whole_create_leaves_nothing(self, stage: Stage) -> None:
        self.run(stage)
        assert self.paths(stage) == []

    def test_user_data_that_the_program_did_not_set_is_a_difference(self, stage: Stage) -> None:
        self.run(stage, user_data=False)
        assert self.paths(stage) == ['userData["cloud-init"]']

    def test_what_the_machine_wrote_itself_is_none(self, stage: Stage) -> None:
        stage.cloud.objects[f"{INSTANCE}/servers/{SERVER}/user_data"]["user_data"].append("ssh-host-fingerprints")
        self.run(stage)
        assert self.paths(stage) == []

    def test_a_nic_that_nobody_knows_is_a_difference(self, stage: Stage) -> None:
        stage.book.nics.clear()
        self.run(stage)
        assert self.paths(stage) == ["privateNetworks"]

    def test_a_target_that_no_create_met_is_a_difference(self, stage: Stage) -> None:
        with stage.client() as gate:
            gate.settle()
        assert [difference.urn for difference in stage.book.differences] == [expect("w0", SERVER_PAIR.ref).urn]

    def test_after_a_refusal_nothing_more_is_said(self, stage: Stage) -> None:
        """One refusal keeps other creates from being sent."""
        with stage.client() as gate:
            body = {**SERVER_PAIR.body, "tags": []}
            httpx2.post(gate.url + SERVER_PAIR.method_path, json=body, headers=TOKEN)
            gate.settle()
        assert self.paths(stage) == ["tags"]


class TestBodies:
    def read(self, raw: bytes, **headers: str) -> bytes | None:
        message = Message()
        for name, value in headers.items():
            message[name.replace("_", "-")] = value
        return read_body(io.BytesIO(raw), message)

    @given(parts=st.lists(st.binary(min_size=1, max_size=40), max_size=6))
    def test_chunks_are_put_together(self, parts: list[bytes]) -> None:
        raw = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts) + b"0\r\n\r\n"
        assert self.read(raw, Transfer_Encoding="chunked") == b"".join(parts)

    @pytest.mark.parametrize(
        "raw",
        [
            b"",
            b"5\r\nabc",
            b"zz\r\nabc\r\n0\r\n\r\n",
            b"3\r\nabcd\r\n0\r\n\r\n",
            b"-1\r\n\r\n",
            b"fffffff\r\n",
            b"3\r\nabc\r\n",
        ],
    )
    def test_broken_chunks_are_no_body(self, raw: bytes) -> None:
        assert self.read(raw, Transfer_Encoding="chunked") is None

    @pytest.mark.parametrize("coding", ["gzip, chunked", "identity"])
    def test_a_coding_that_is_not_read_is_no_body(self, coding: str) -> None:
        assert self.read(b"3\r\nabc\r\n0\r\n\r\n", Transfer_Encoding=coding) is None

    def test_a_length_is_kept(self) -> None:
        assert self.read(b"abcdef", Content_Length="3") == b"abc"
        assert self.read(b"ab", Content_Length="3") is None
        assert self.read(b"ab", Content_Length="-1") is None
        assert self.read(b"ab") == b""
