"""A checkpoint is decoded without its secrets, or refused by name."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.engine.checkpoint import decode
from reconciler.kernel.errors import EngineError
from reconciler.model.resources import Kind
from reconciler.model.state import SECRET
from tests.engine.fakes import PROVIDER, PROVIDER_ID, STACK, export, resource, urn

INTERRUPTED = Path(__file__).with_name("data") / "interrupted.json"
SIGNATURE, SECRET_KIND = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"


def wrapped(text: str = "v1:abc:def") -> dict[str, str]:
    return {SIGNATURE: SECRET_KIND, "ciphertext": text}


def raw(document: Any) -> bytes:
    return json.dumps(document).encode()


def code_of(document: Any) -> str:
    with pytest.raises(EngineError) as caught:
        decode(raw(document))
    return caught.value.code


class TestAFileOfAnInterruptedRun:
    """`up` of a third server killed while its create was answered; recorded from the real engine."""

    found = decode(INTERRUPTED.read_bytes())

    def test_the_backends_own_form_is_read(self) -> None:
        assert len(self.found.resources) == 8
        assert self.found.secrets.type == "passphrase"

    def test_the_pending_create_has_a_urn_and_no_id(self) -> None:
        (pending,) = self.found.pending
        assert pending.operation == "creating"
        assert pending.resource.name == "w2"
        assert pending.resource.id is None

    def test_ids_become_references(self) -> None:
        kinds = [item.ref.kind for item in self.found.resources if item.ref is not None]
        assert sorted(kinds) == [Kind.IP] * 3 + [Kind.SERVER] * 3

    def test_the_bridges_own_properties_are_left_out(self) -> None:
        text = repr(self.found.resources)
        for noise in ("__meta", "__defaults", "__pulumi_raw_state_delta", "__internal"):
            assert noise not in text


def test_an_export_and_a_file_of_the_same_state_are_read_alike() -> None:
    document = export(resource("ip0"))
    file = {"version": 3, "checkpoint": {"stack": "organization/proj/dev", "latest": document["deployment"]}}
    assert decode(raw(document)) == decode(raw(file))


@pytest.mark.parametrize(
    "document",
    [
        {"version": 3, "deployment": {"manifest": {}}},
        {"version": 3, "deployment": {"resources": None, "pending_operations": None}},
        {"version": 3, "deployment": None},
        {"version": 3, "checkpoint": {"stack": "", "latest": None}},
        {"version": 4, "features": ["hooks", "views"], "deployment": {"resources": []}},
    ],
    ids=["no-resources", "null-resources", "null-deployment", "never-deployed", "version-4"],
)
def test_an_empty_stack_is_empty_and_no_error(document: dict[str, Any]) -> None:
    found = decode(raw(document))
    assert (found.resources, found.pending, found.outputs) == ((), (), {})


def test_flags_are_read() -> None:
    document = export(
        resource(
            "ip0",
            protect=True,
            external=True,
            ignoreChanges=["tags"],
            initErrors=["half done"],
            dependencies=[STACK],
        )
    )
    item = decode(raw(document)).resources[-1]
    assert (item.protect, item.external, item.pending_delete) == (True, True, False)
    assert item.ignore_changes == ("tags",)
    assert item.init_errors == ("half done",)
    assert item.dependencies == (STACK,)


def test_outputs_are_those_of_the_stack_resource() -> None:
    found = decode(raw(export(outputs={"fleet": {"min": 1}, "password": wrapped()})))
    assert found.outputs["fleet"] == {"min": 1}
    assert found.outputs["password"] is SECRET


class TestRefusals:
    @pytest.mark.parametrize("version", [1, 2, 5, 99])
    def test_a_version_that_is_not_known(self, version: int) -> None:
        assert code_of({**export(), "version": version}) == "RC0505"

    def test_a_feature_that_is_not_known(self) -> None:
        assert code_of({**export(), "version": 4, "features": ["hooks", "time-travel"]}) == "RC0505"

    def test_the_same_urn_twice(self) -> None:
        assert code_of(export(resource("ip0", 1), resource("ip0", 2))) == "RC0506"

    def test_a_copy_that_waits_for_its_removal_is_no_duplicate(self) -> None:
        found = decode(raw(export(resource("ip0", 1), resource("ip0", 2, delete=True))))
        assert [item.pending_delete for item in found.resources[-2:]] == [False, True]

    @pytest.mark.parametrize(
        "fields",
        [
            {"provider": f"{PROVIDER}::{'0' * 8}"},
            {"parent": urn("nobody")},
            {"dependencies": [urn("nobody")]},
            {"propertyDependencies": {"tags": [urn("nobody")]}},
            {"deletedWith": urn("nobody")},
            {"custom": False},
        ],
        ids=["provider", "parent", "dependency", "property-dependency", "deleted-with", "component-with-id"],
    )
    def test_a_reference_to_what_is_not_there(self, fields: dict[str, Any]) -> None:
        assert code_of(export(resource("ip0", **fields))) == "RC0506"

    def test_a_reference_to_an_alias_is_none(self) -> None:
        decode(raw(export(resource("new", 1, aliases=[urn("old")]), resource("ip1", 2, dependencies=[urn("old")]))))

    def test_a_provider_may_be_missing_while_a_replacement_is_pending(self) -> None:
        decode(raw(export(resource("ip0", provider=f"{PROVIDER}::gone", pendingReplacement=True))))

    @pytest.mark.parametrize(
        "document",
        [
            {},
            {"version": "3", "deployment": {}},
            {"version": True, "deployment": {}},
            {"version": 3},
            {"version": 3, "deployment": []},
            {"version": 3, "deployment": {"resources": {}}},
            {"version": 3, "deployment": {"resources": [7]}},
            {"version": 3, "deployment": {"resources": [{"type": "a:b:C"}]}},
            {"version": 3, "deployment": {"resources": [{"urn": "u", "type": "a:b:C", "inputs": "x"}]}},
            {"version": 3, "deployment": {"pending_operations": [{"type": "creating"}]}},
            {"version": 3, "deployment": {"secrets_providers": 3}},
        ],
    )
    def test_a_wrong_shape(self, document: Any) -> None:
        assert code_of(document) == "RC0506"

    @pytest.mark.parametrize("text", [b"", b"error: no", b"[]", b'{"version": 3', b"\xff\xfe"])
    def test_what_is_no_json_object(self, text: bytes) -> None:
        with pytest.raises(EngineError) as caught:
            decode(text)
        assert caught.value.code == "RC0504"

    def test_the_value_in_a_wrong_place_is_not_shown(self) -> None:
        with pytest.raises(EngineError) as caught:
            decode(raw(export(resource("ip0", inputs="hunter2hunter2"))))
        assert "hunter2" not in str(caught.value)
        assert "inputs" in str(caught.value)


class TestSecrets:
    def test_a_wrapped_secret_is_masked_at_any_depth(self) -> None:
        item = decode(raw(export(resource("ip0", inputs={"a": [{"b": wrapped()}]})))).resources[-1]
        assert item.inputs["a"][0]["b"] is SECRET

    def test_plaintext_of_an_export_with_secrets_shown_is_masked_too(self) -> None:
        shown = {SIGNATURE: SECRET_KIND, "plaintext": '"hunter2hunter2"'}
        item = decode(raw(export(resource("ip0", inputs={"a": shown})))).resources[-1]
        assert item.inputs["a"] is SECRET

    def test_an_output_value_is_masked_when_it_is_secret(self) -> None:
        kind = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
        inputs = {"a": {SIGNATURE: kind, "value": "x", "secret": True}, "b": {SIGNATURE: kind, "value": "x"}}
        item = decode(raw(export(resource("ip0", inputs=inputs)))).resources[-1]
        assert item.inputs["a"] is SECRET
        assert item.inputs["b"] is not SECRET

    def test_a_named_secret_output_is_masked_by_name_by_path_and_by_value(self) -> None:
        item = decode(
            raw(
                export(
                    resource(
                        "ip0",
                        additionalSecretOutputs=["password"],
                        inputs={"password": "hunter2hunter2", "note": "kept"},
                        outputs={
                            "password": "hunter2hunter2",
                            "copy": ["hunter2hunter2"],
                            "__inputs": {"password": "hunter2hunter2"},
                        },
                    )
                )
            )
        ).resources[-1]
        assert "hunter2" not in repr(item)
        assert item.inputs["note"] == "kept"

    def test_the_output_of_a_secret_input_is_masked(self) -> None:
        item = decode(raw(export(resource("ip0", inputs={"x": wrapped()}, outputs={"x": "clear text"})))).resources[-1]
        assert item.outputs["x"] is SECRET

    def test_user_data_is_masked_though_nobody_called_it_secret(self) -> None:
        server = resource(
            "w0",
            kind="scaleway:instance/server:Server",
            inputs={"userData": {"cloud-init": "TOKEN=abcdef"}, "cloudInit": "TOKEN=abcdef", "type": "PLAY2-PICO"},
            outputs={"userData": {"cloud-init": "TOKEN=abcdef"}, "type": "PLAY2-PICO"},
        )
        item = decode(raw(export(server))).resources[-1]
        assert "TOKEN" not in repr(item)
        assert item.inputs["type"] == "PLAY2-PICO"

    def test_a_property_that_is_not_set_stays_unset(self) -> None:
        server = resource("w0", kind="scaleway:instance/server:Server", outputs={"cloudInit": None})
        assert decode(raw(export(server))).resources[-1].outputs["cloudInit"] is None


# Texts that occur nowhere else, so that finding one in a repr means that it leaked.
LEAVES = st.none() | st.booleans() | st.integers() | st.text(alphabet="abc", max_size=4)
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("xyz", max_size=3), inner, max_size=4)
)


def plant(tree: Any, secret: Any, choose: random.Random) -> Any:
    """The tree with a secret in place of one of its values."""
    if isinstance(tree, dict) and tree and choose.random() < 0.8:
        key = choose.choice(sorted(tree))
        return {**tree, key: plant(tree[key], secret, choose)}
    if isinstance(tree, list) and tree and choose.random() < 0.8:
        at = choose.randrange(len(tree))
        return [plant(item, secret, choose) if index == at else item for index, item in enumerate(tree)]
    return secret


@settings(max_examples=200, deadline=None)
@given(tree=TREES, seed=st.integers(0, 2**32), where=st.sampled_from(["inputs", "outputs"]), shown=st.booleans())
def test_no_secret_survives_decoding_wherever_it_is(tree: Any, seed: int, where: str, shown: bool) -> None:
    secret = {SIGNATURE: SECRET_KIND, ("plaintext" if shown else "ciphertext"): "LEAKED"}
    item = {**resource("ip0"), where: {"p": plant(tree, secret, random.Random(seed))}}
    found = decode(raw(export(item)))
    assert "LEAKED" not in repr(found)
    assert repr(found).count("[secret]") >= 1


@settings(max_examples=100, deadline=None)
@given(tree=TREES, name=st.sampled_from(["p", "q"]))
def test_a_named_output_never_shows_nor_does_a_copy_of_its_text(tree: Any, name: str) -> None:
    item = resource(
        "ip0",
        additionalSecretOutputs=[name],
        inputs={"copy": "LEAKED-TEXT", "tree": tree},
        outputs={name: {"deep": ["LEAKED-TEXT"]}, "tree": tree},
    )
    assert "LEAKED-TEXT" not in repr(decode(raw(export(item))))


@settings(max_examples=100, deadline=None)
@given(order=st.permutations(range(6)))
def test_the_serial_does_not_depend_on_the_order_of_entries(order: list[int]) -> None:
    items = [resource(f"ip{n}", n) for n in range(6)]
    assert decode(raw(export(*[items[n] for n in order]))).serial == decode(raw(export(*items))).serial


CHANGES = {
    "an id": lambda d: d["deployment"]["resources"][-1].update(id="fr-par-1/x"),
    "an input": lambda d: d["deployment"]["resources"][-1]["inputs"].update(tags=[]),
    "a ciphertext": lambda d: d["deployment"]["resources"][-1]["inputs"].update(s=wrapped("other")),
    "a taint": lambda d: d["deployment"]["resources"][-1].update(taint=True),
    "a resource less": lambda d: d["deployment"]["resources"].pop(),
    "a pending operation": lambda d: d["deployment"].update(
        pending_operations=[{"type": "creating", "resource": {"urn": urn("ip9"), "type": "a:b:C"}}]
    ),
    "an output": lambda d: d["deployment"]["resources"][0].update(outputs={"x": 1}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_serial_changes_with(change: Any) -> None:
    before = export(resource("ip0", inputs={"s": wrapped(), "tags": ["t"]}))
    after = copy.deepcopy(before)
    change(after)
    assert decode(raw(before)).serial != decode(raw(after)).serial


def test_the_serial_stands_still_while_only_the_manifest_moves() -> None:
    before, after = export(resource("ip0")), export(resource("ip0"))
    after["deployment"]["manifest"] = {"time": "2026-11-30T01:01:36Z"}
    assert decode(raw(before)).serial == decode(raw(after)).serial


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["version", "deployment", "checkpoint", "latest", "resources", "urn", "type", "inputs"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(document=JSON)
def test_garbage_is_a_typed_error_and_never_a_surprise(document: Any) -> None:
    try:
        decode(raw(document))
    except EngineError as error:
        assert error.code in {"RC0504", "RC0505", "RC0506"}  # noqa: PT017


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, 2000), junk=JSON)
def test_a_damaged_checkpoint_is_a_typed_error_or_a_state(at: int, junk: Any) -> None:
    """One value anywhere in a real checkpoint replaced by junk."""
    document = json.loads(INTERRUPTED.read_text())
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        keys = value.keys() if isinstance(value, dict) else range(len(value))
        for key in keys:
            places.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    walk(document)
    parent, key = places[at % len(places)]
    parent[key] = junk
    try:
        decode(raw(document))
    except EngineError as error:
        assert error.code in {"RC0505", "RC0506"}  # noqa: PT017


def test_a_provider_reference_must_name_the_very_id() -> None:
    assert code_of(export(resource("ip0", provider=PROVIDER))) == "RC0506"
    decode(raw(export(resource("ip0", provider=f"{PROVIDER}::{PROVIDER_ID}"))))
