"""What the gate says to the provider: "gone" for what is proved, and for nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.gate_rules import ReadRules, Verdict, failed_body, gone_body, last_id, proved_ids
from tests.engine.fakes import uuid_of

PROVED, OTHER = uuid_of(1), uuid_of(2)
TYPED = json.dumps({"type": "not_found", "message": "resource is not found", "resource": "instance_ip"}).encode()
ZONE = "/instance/v1/zones/fr-par-1"
BLOCK = "/block/v1alpha1/zones/fr-par-1"
STRICT = ReadRules(proved=frozenset({PROVED}), types=frozenset({"scaleway:instance/ip:Ip"}))
OBSERVE = ReadRules(observe=True)


@pytest.mark.parametrize("status", [403, 404])
def test_a_proved_id_is_gone_by_404_and_by_403(status: int) -> None:
    """The API is known to answer 403 for an IP that is gone (R009); the proof was made before."""
    assert STRICT.judge(f"{ZONE}/ips/{PROVED}", status, b"") is Verdict.GONE


def test_a_proved_id_that_is_there_after_all_is_not_gone() -> None:
    assert STRICT.judge(f"{ZONE}/ips/{PROVED}", 200, b"{}") is Verdict.PASS


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 409, 410, 412, 418, 301, 304])
def test_another_id_is_never_gone_during_a_refresh(status: int) -> None:
    assert STRICT.judge(f"{ZONE}/ips/{OTHER}", status, TYPED) is Verdict.FAILED


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_api_keeps_its_status_so_that_the_provider_asks_again(status: int) -> None:
    assert STRICT.judge(f"{ZONE}/ips/{PROVED}", status, TYPED) is Verdict.BUSY


def test_a_proof_of_the_server_is_none_of_its_nic() -> None:
    assert STRICT.judge(f"{ZONE}/servers/{PROVED}/private_nics/{OTHER}", 404, TYPED) is Verdict.FAILED


class TestWhileObserving:
    def test_a_typed_404_is_what_the_provider_says(self) -> None:
        assert OBSERVE.judge(f"{ZONE}/ips/{OTHER}", 404, TYPED) is Verdict.PASS

    @pytest.mark.parametrize("body", [b"", b"<html>404</html>", b"[]", b"{}", b'{"type": "invalid_request_error"}'])
    def test_an_untyped_404_is_a_failed_read(self, body: bytes) -> None:
        assert OBSERVE.judge(f"{ZONE}/ips/{OTHER}", 404, body) is Verdict.FAILED

    def test_a_403_is_a_failed_read(self) -> None:
        assert OBSERVE.judge(f"{ZONE}/ips/{OTHER}", 403, TYPED) is Verdict.FAILED


ORDINARY = [
    (f"{ZONE}/volumes/{OTHER}", 404, "scaleway:instance/volume:Volume"),
    (f"{ZONE}/servers/{OTHER}/user_data/cloud-init", 404, "scaleway:instance/userData:UserData"),
    (f"{BLOCK}/snapshots/{OTHER}", 404, "scaleway:block/snapshot:Snapshot"),
    (f"{BLOCK}/snapshots/{OTHER}", 403, "scaleway:block/snapshot:Snapshot"),
]


@pytest.mark.parametrize(("path", "status", "kind"), ORDINARY)
def test_a_miss_that_is_part_of_an_ordinary_read_passes(path: str, status: int, kind: str) -> None:
    assert STRICT.judge(path, status, b"") is Verdict.PASS


@pytest.mark.parametrize(("path", "status", "kind"), ORDINARY)
def test_it_does_not_pass_while_a_resource_of_that_type_is_read(path: str, status: int, kind: str) -> None:
    assert ReadRules(types=frozenset({kind})).judge(path, status, TYPED) is Verdict.FAILED


def test_the_metadata_may_be_missing() -> None:
    assert STRICT.judge("/metadata", 404, b"") is Verdict.PASS


@pytest.mark.parametrize(
    "path", [f"{ZONE}/volumes/{OTHER}/x", f"/x{ZONE}/volumes/{OTHER}", f"{BLOCK}/volumes/{OTHER}", f"{ZONE}/servers"]
)
def test_a_path_that_only_resembles_an_ordinary_miss_fails(path: str) -> None:
    assert STRICT.judge(path, 404, TYPED) is Verdict.FAILED


PATHS = st.sampled_from(
    [
        f"{ZONE}/ips/{{}}",
        f"{ZONE}/servers/{{}}",
        f"{BLOCK}/volumes/{{}}",
        f"{ZONE}/placement_groups/{{}}",
        "/ipam/v1/regions/fr-par/ips/{}",
        "/vpc/v2/regions/fr-par/private-networks/{}",
        "/instance/v2alpha1/zones/fr-par-1/private-network-interfaces/{}",
    ]
)


@given(
    path=PATHS,
    number=st.integers(2, 50),
    status=st.integers(300, 599),
    body=st.sampled_from([b"", TYPED, b"{}", b"x"]),
    proved=st.frozensets(st.integers(51, 99), max_size=5),
)
def test_nothing_that_the_provider_takes_for_gone_comes_out_for_an_unproved_id(
    path: str, number: int, status: int, body: bytes, proved: frozenset[int]
) -> None:
    rules = ReadRules(proved=frozenset(map(uuid_of, proved)), types=frozenset({"scaleway:instance/server:Server"}))
    assert rules.judge(path.format(uuid_of(number)), status, body) in (Verdict.FAILED, Verdict.BUSY)


def test_our_own_words_hold_no_word_that_the_provider_knows() -> None:
    """The provider reads `type` whatever the status is, and looks for `is not found` in the message."""
    body = failed_body("the API answered 404 to this read").decode()
    assert "not_found" not in body
    assert "is not found" not in body
    assert "permissions_denied" not in body


def test_gone_is_said_in_the_apis_own_form() -> None:
    body = json.loads(gone_body(f"{ZONE}/servers/{PROVED}"))
    assert (body["type"], body["message"], body["resource_id"]) == ("not_found", "resource is not found", PROVED)


def test_ids_are_compared_in_lower_case() -> None:
    assert last_id(f"{ZONE}/ips/{'ABCDEF00-0000-4000-8000-000000000001'}") == "abcdef00-0000-4000-8000-000000000001"


def test_an_id_without_a_uuid_proves_nothing() -> None:
    nested = f"fr-par-1/{OTHER}/{PROVED}"
    assert proved_ids([f"fr-par-1/{PROVED}", "fr-par-1", "", "fr-par-1/", nested]) == {PROVED}
