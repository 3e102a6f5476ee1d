"""The API behind the gate is the one that the provider would have asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reconciler.engine.checkpoint import Checkpoint, decode
from reconciler.engine.upstream import require_gated, upstream
from reconciler.kernel.errors import RefusedError
from tests.engine.fakes import export, resource, urn

SECOND = "urn:pulumi:dev::proj::pulumi:providers:scaleway::second"


def checkpoint(config: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> Checkpoint:
    other = {"urn": SECOND, "custom": True, "id": "x", "type": "pulumi:providers:scaleway", "inputs": second or {}}
    items = [other, resource("ip0", 1), resource("ip1", 2, provider=f"{SECOND}::x")]
    return decode(json.dumps(export(*items, config=config or {})).encode())


def ask(found: Checkpoint, *names: str, **env: str) -> str:
    return upstream(found, [urn(name) for name in names], env=env, default="https://default")


def test_the_default_is_last() -> None:
    assert ask(checkpoint(), "ip0", "ip1") == "https://default"


def test_an_explicit_provider_names_its_api() -> None:
    assert ask(checkpoint({"apiUrl": "https://staging"}), "ip0") == "https://staging"


def test_the_environment_wins_over_the_provider() -> None:
    found = checkpoint({"apiUrl": "https://staging"})
    assert ask(found, "ip0", SCW_API_URL="http://127.0.0.1:9") == "http://127.0.0.1:9"


def test_a_provider_that_is_not_asked_does_not_count() -> None:
    assert ask(checkpoint({"apiUrl": "https://staging"}), "ip1") == "https://default"


@pytest.mark.parametrize(
    "found",
    [
        checkpoint({"apiUrl": "https://staging"}, {}),
        checkpoint({"endpoints": '[{"instance": "https://elsewhere"}]'}),
    ],
    ids=["two-apis", "endpoints"],
)
def test_a_provider_that_the_gate_cannot_stand_before_is_refused(found: Checkpoint) -> None:
    with pytest.raises(RefusedError) as caught:
        ask(found, "ip0", "ip1")
    assert caught.value.code == "RC0614"


def test_a_type_that_is_not_read_through_the_api_is_refused() -> None:
    kind = "scaleway:object/bucket:Bucket"
    found = decode(json.dumps(export(resource("b", kind=kind))).encode())
    with pytest.raises(RefusedError) as caught:
        require_gated(found, [urn("b", kind)])
    assert caught.value.code == "RC0614"
