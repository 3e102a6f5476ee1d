"""The coverage table and the blind spots, and that the documentation says the same as the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.diff.properties import BLIND_SPOTS
from reconciler.model.resources import Kind
from reconciler.model.state import KIND_OF_TYPE, StateResource
from reconciler.observe.coverage import LISTED, LISTED_REGIONAL, TARGETED, coverage, how
from tests.builders import entry_of, ip, server, state

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"


@pytest.mark.parametrize(
    ("token", "way"),
    [
        ("scaleway:instance/server:Server", "list"),
        ("scaleway:ipam/ip:Ip", "list"),
        ("scaleway:instance/securityGroup:SecurityGroup", "targeted read"),
        ("scaleway:lb/loadBalancer:LoadBalancer", "not covered"),
        ("aws:ec2/instance:Instance", "not covered"),
    ],
)
def test_each_type_is_listed_read_by_id_or_not_covered(token: str, way: str) -> None:
    assert how(token) == way


def test_every_kind_that_a_type_stands_for_is_observed_in_some_way() -> None:
    assert {how(token) for token in KIND_OF_TYPE} == {"list", "targeted read"}
    assert set(KIND_OF_TYPE.values()) == {*LISTED, *LISTED_REGIONAL, *TARGETED}


def test_components_providers_and_the_stack_itself_are_no_machines() -> None:
    other = StateResource(urn="u", type="scaleway:lb/loadBalancer:LoadBalancer", id="x", custom=True)
    component = StateResource(urn="c", type="reconciler:fleet:WorkerFleet", id=None, custom=False)
    stack = StateResource(urn="s", type="pulumi:pulumi:Stack", id=None, custom=True)
    provider = StateResource(urn="p", type="pulumi:providers:scaleway", id="x", custom=True)
    lines = coverage([state(entry_of(server()), entry_of(ip()), other, component, stack, provider)])
    assert [(line.type, line.how, line.entries) for line in lines] == [
        ("scaleway:instance/ip:Ip", "list", 1),
        ("scaleway:instance/server:Server", "list", 1),
        ("scaleway:lb/loadBalancer:LoadBalancer", "not covered", 1),
    ]


def rows(heading: str) -> list[tuple[str, ...]]:
    """The cells of the table under a heading of the document, without its two header lines."""
    text = DOCUMENT.read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [tuple(cell.strip().strip("`") for cell in line.strip("|").split("|")) for line in lines]


def test_the_documented_coverage_is_the_code_s() -> None:
    assert sorted(rows("Coverage")) == sorted((token, kind.value, how(token)) for token, kind in KIND_OF_TYPE.items())


def test_the_documented_blind_spots_are_the_code_s() -> None:
    assert sorted(rows("Blind spots")) == sorted((kind.value, path, why) for (kind, path), why in BLIND_SPOTS.items())


def test_every_blind_spot_is_of_a_kind_that_is_observed() -> None:
    assert {kind for kind, _ in BLIND_SPOTS} <= {*LISTED, *LISTED_REGIONAL, *TARGETED} <= set(Kind)
