"""What users write as the name of a stack, and what the CLI gets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.stacks import DIY_ORGANIZATION, Listed, StackName, matching, parse_listing, resolve
from reconciler.kernel.errors import EngineError


def listed(*names: str) -> list[Listed]:
    return [Listed(StackName(*name.split("/")), updating=False) for name in names]


DIY = listed("organization/ci/linux-prod", "organization/ci/linux-dev", "organization/render/farm")


def test_a_pattern_matches_within_a_segment() -> None:
    assert matching(["ci/*"], DIY) == ("ci/linux-dev", "ci/linux-prod")
    assert matching(["*/farm", "ci/linux-?rod"], DIY) == ("render/farm", "ci/linux-prod")


def test_a_wildcard_does_not_cross_a_segment() -> None:
    assert matching(["ci*/*"], listed("organization/a/b")) == ()
    assert matching(["*/prod"], listed("prod/x/y")) == ()


def test_a_name_without_a_wildcard_is_kept_though_nothing_matches() -> None:
    assert matching(["ci/gone", "ci/linux-prod"], DIY) == ("ci/gone", "ci/linux-prod")


def test_a_stack_that_several_patterns_match_comes_once() -> None:
    assert matching(["ci/linux-prod", "ci/*"], DIY) == ("ci/linux-prod", "ci/linux-dev")


def test_the_organization_shows_only_where_names_would_be_ambiguous() -> None:
    cloud = listed("acme/ci/prod", "other/ci/prod", "acme/render/farm")
    assert matching(["*/*"], cloud) == ("acme/ci/prod", "render/farm", "other/ci/prod")
    assert matching(["acme/*/*"], cloud) == ("acme/ci/prod", "render/farm")


def test_a_diy_backend_has_one_organization() -> None:
    assert resolve("ci/dev", None) == StackName(DIY_ORGANIZATION, "ci", "dev")


def test_on_pulumi_cloud_the_organization_is_looked_up() -> None:
    assert resolve("ci/prod", listed("acme/ci/prod")) == StackName("acme", "ci", "prod")


@pytest.mark.parametrize(
    ("name", "listing", "code"),
    [
        ("ci/prod", listed("acme/ci/dev"), "RC0508"),
        ("ci/prod", listed("acme/ci/prod", "other/ci/prod"), "RC0518"),
        ("ci/*", listed("acme/ci/prod"), "RC0503"),
    ],
    ids=["not-there", "twice", "pattern"],
)
def test_a_name_that_is_not_one_stack_is_refused(name: str, listing: list[Listed], code: str) -> None:
    with pytest.raises(EngineError) as caught:
        resolve(name, listing)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["", "dev", "a/b/c/d", "a//b", "../b", "a/..", "a/b c", "a/b\n", "/a", "a/", "-x y/z"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(EngineError) as caught:
        resolve(name, None)
    assert caught.value.code == "RC0503"


@given(st.text())
def test_no_accepted_name_leads_out_of_its_directory(name: str) -> None:
    """Segments become parts of a path to lock files."""
    try:
        found = resolve(name, None)
    except EngineError:
        return
    for part in (found.project, found.stack):
        assert part not in ("", ".", "..")
        assert "/" not in part
        assert "\0" not in part


def test_a_listing_is_read() -> None:
    rows = [
        {"name": "organization/proj/dev", "current": False, "resourceCount": 5},
        {"name": "acme/ci/prod", "current": False, "updateInProgress": True},
        {"name": "legacy", "current": False},
    ]
    assert parse_listing(json.dumps(rows).encode()) == (
        Listed(StackName("organization", "proj", "dev"), updating=False),
        Listed(StackName("acme", "ci", "prod"), updating=True),
    )


@pytest.mark.parametrize("raw", [b"", b"[]"])
def test_no_stacks_are_none(raw: bytes) -> None:
    assert parse_listing(raw) == ()


@pytest.mark.parametrize("raw", [b"{}", b"warning: x\n[]", b'[{"name": 3}]'])
def test_what_is_no_listing_is_refused(raw: bytes) -> None:
    with pytest.raises(EngineError) as caught:
        parse_listing(raw)
    assert caught.value.code == "RC0504"
