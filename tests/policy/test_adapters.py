"""What each adapter tells of a resource, and what it leaves untold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from policies import pack
from reconciler.model.desired import OUTPUT_NAME
from reconciler.model.policy import Severity
from reconciler.model.resources import Kind, Other
from reconciler.model.state import SECRET, StateResource
from reconciler.policy.adapters.inputs import TYPES, items_of_entry, items_of_inputs
from reconciler.policy.adapters.live import item_of
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.adapters.rows import item_of_row, value_of_worker
from reconciler.policy.decode import decode_value
from reconciler.policy.evaluate import evaluate
from reconciler.policy.item import UNKNOWN, Facts, Item
from tests.builders import PROJECT, SCOPE, ZONE, server
from tests.policy.samples import NOW

SERVER = "scaleway:instance/server:Server"
FACTS = Facts(now_ms=NOW, scope=SCOPE)


def inputs(**given: Any) -> list[Item]:
    return list(items_of_inputs(SERVER, given, Lookups(), urn="urn:pulumi:s::p::t::n"))


@pytest.mark.parametrize(
    ("value", "tags", "may_be_more"),
    [
        (["a"], ("a",), False),
        (None, (), False),
        (UNKNOWN, (), True),
        (["a", UNKNOWN], ("a",), True),
        (["a", SECRET], ("a",), True),
        (SECRET, None, False),
    ],
)
def test_tags_are_told_as_far_as_they_are_known(value: Any, tags: Any, may_be_more: bool) -> None:
    item = inputs(tags=value)[0]
    assert (item.tags, item.tags_open) == (tags, may_be_more)


@pytest.mark.parametrize(
    ("given", "public"),
    [
        ({}, False),
        ({"ipId": UNKNOWN}, True),
        ({"ipIds": ["x"]}, True),
        ({"ipIds": []}, False),
        ({"enableDynamicIp": True}, True),
        ({"enableDynamicIp": UNKNOWN}, UNKNOWN),
        ({"enableDynamicIp": SECRET}, None),
    ],
)
def test_a_server_has_a_public_ip_when_it_will_have_one(given: dict[str, Any], public: Any) -> None:
    assert inputs(**given)[0].public_ip is public


def test_a_root_volume_is_an_item_of_its_own_without_tags() -> None:
    _, root = inputs(tags=["a"], rootVolume={"sizeInGb": 20.0})
    assert (root.kind, root.size, root.tags) == (Kind.VOLUME, 20_000_000_000, None)
    assert root.identity == "volume urn:pulumi:s::p::t::n"


def test_local_storage_as_a_root_is_an_instance_volume() -> None:
    assert inputs(rootVolume={"volumeType": "l_ssd"})[1].kind is Kind.INSTANCE_VOLUME


def test_old_tokens_are_known_and_other_types_are_nobodys() -> None:
    assert TYPES["scaleway:index/instanceServer:InstanceServer"] is Kind.SERVER
    assert list(items_of_inputs("scaleway:object/bucket:Bucket", {}, Lookups(), urn="u")) == []


def test_what_a_program_only_reads_or_gives_up_is_not_judged() -> None:
    given: dict[str, Any] = {"urn": "u", "type": SERVER, "id": "fr-par-1/x", "custom": True}
    for change in ({"external": True}, {"pending_delete": True}, {"custom": False}):
        entry = StateResource(**(given | change))
        assert list(items_of_entry(entry, Lookups())) == []


def test_the_zone_of_an_entry_is_in_its_id_where_the_program_leaves_it_out() -> None:
    entry = StateResource(urn="u", type=SERVER, id="nl-ams-1/x", custom=True)
    assert next(items_of_entry(entry, Lookups())).zone == "nl-ams-1"


def test_an_image_in_the_cloud_is_told_with_tags_and_age() -> None:
    image = Other(id="i", zone=ZONE, project=PROJECT, kind=Kind.IMAGE, name="golden", tags=("a",), created_ms=5)
    item = item_of(image, Lookups())
    assert (item.kind, item.tags, item.created_ms, item.label) == (Kind.IMAGE, ("a",), 5, "image golden")


def test_a_price_that_is_not_in_the_catalogue_is_not_told() -> None:
    assert item_of(server(commercial_type="NEW-1"), Lookups()).hour_nanos is None


@dataclass(frozen=True)
class Row:
    id: str = "w1"
    fleet: str = "linux"
    zone: str = "fr-par-1"
    revision: str = "0123456789ab"


def test_a_row_of_ours_stands_for_the_tags_that_its_machine_gets() -> None:
    policy = decode_value(
        {
            "version": 1,
            "rules": [{"id": "own", "check": "ownership"}, {"id": "t", "check": "allowed-types", "types": ["*"]}],
        },
        source="test",
    )
    found = evaluate(policy, [item_of_row(value_of_worker(Row(), scope=SCOPE), Lookups())], FACTS)
    assert found.violations == ()
    assert [one.rule.id for one in found.not_evaluated] == ["t"]


# -- the pack


def test_the_pack_takes_the_policy_of_its_configuration_before_a_file(tmp_path: Any) -> None:
    for name in ("policy.yaml", "env.yaml", "named.yaml"):
        (tmp_path / name).write_text(f"version: 1\nname: {name}\n")
    environ = {"RECONCILER_POLICY": "env.yaml"}

    def chosen(config: dict[str, Any], given: dict[str, str]) -> str:
        return pack.configured(config, directory=tmp_path, environ=given).name

    assert chosen({"policy": {"version": 1.0, "name": "inline"}, "file": "named.yaml"}, environ) == "inline"
    assert chosen({"file": "named.yaml"}, environ) == "named.yaml"
    assert chosen({}, environ) == "env.yaml"
    assert chosen({}, {}) == "policy.yaml"


def test_the_pack_adds_no_tag_that_may_be_coming() -> None:
    rule = {"id": "r", "check": "required-tags", "tags": ["x"], "severity": "remediate"}
    policy = decode_value({"version": 1, "rules": [rule]}, source="test")
    known = pack.items(SERVER, {"tags": ["a"]}, urn="u")
    coming = pack.items(SERVER, {"tags": ["a", "04da6b54-80e4-46f7-96ec-b56ff0331ba9"]}, urn="u")
    assert pack.additions(policy, known, FACTS) == ("x",)
    assert pack.additions(policy, coming, FACTS) == ()
    assert [one.severity for one in pack.violations(policy, coming, FACTS)] == [Severity.ADVISORY]


def test_the_pack_takes_the_zone_of_an_explicit_provider() -> None:
    assert pack.items(SERVER, {}, urn="u", default_zone="fr-par-2")[0].zone == "fr-par-2"
    assert pack.items(SERVER, {"zone": "fr-par-1"}, urn="u", default_zone="fr-par-2")[0].zone == "fr-par-1"


def test_what_a_stack_declares_is_judged_by_its_scope_and_revisions() -> None:
    rules = [{"id": "own", "check": "ownership"}, {"id": "current", "check": "current-revision"}]
    output = {
        "schema_version": 1.0,
        "scope": SCOPE,
        "fleets": [{"name": "linux", "revision": "0123456789ab"}],
        "policy": {"version": 1.0, "rules": rules},
    }
    tags = ["reconciler", f"reconciler:scope={SCOPE}", "reconciler:fleet=linux", "reconciler:revision=ffffffffffff"]
    resources: list[tuple[str, str, dict[str, Any]]] = [
        (pack.STACK_TYPE, "urn:stack", {OUTPUT_NAME: output}),
        (SERVER, "urn:server", {"tags": tags}),
    ]
    assert [one.rule.id for one in pack.declared_violations(resources, None, now_ms=NOW)] == ["current"]
    own = decode_value({"version": 1, "rules": [rules[1]]}, source="configured")
    assert list(pack.declared_violations(resources, own, now_ms=NOW)) == []


def test_a_stack_that_declares_nothing_is_judged_by_nothing() -> None:
    assert list(pack.declared_violations([(pack.STACK_TYPE, "u", {}), (SERVER, "s", {})], None, now_ms=NOW)) == []
