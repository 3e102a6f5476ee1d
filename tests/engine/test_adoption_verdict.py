"""What is sorted out before an adoption, the place of its rehearsal, and what the rehearsal is judged by."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.adoption import scratch as place
from reconciler.engine.adoption import verdict
from reconciler.engine.adoption.adopter import refused, require_no_loss
from reconciler.engine.adoption.digest import Change, Plan
from reconciler.engine.adoption.job import sort_out
from reconciler.engine.adoption.rehearsal import require_portable
from reconciler.engine.checkpoint import Checkpoint
from reconciler.engine.shapes import RawSecretsProvider
from reconciler.engine.stacks import StackName
from reconciler.kernel.errors import RefusedError
from reconciler.model.resources import Kind, Ref
from reconciler.model.state import SECRET, PendingOperation, StateResource
from reconciler.ports.engine import Difference
from tests.engine.fakes import uuid_of

KIND = "scaleway:instance/server:Server"
NAME = StackName("organization", "proj", "dev")
REF = Ref(Kind.SERVER, "fr-par-1", uuid_of(1))


def urn(name: str, kind: str = KIND) -> str:
    return f"urn:pulumi:dev::proj::{kind}::{name}"


def entry(name: str, identity: str = uuid_of(1), **more: Any) -> StateResource:
    return StateResource(urn=urn(name), type=KIND, id=f"fr-par-1/{identity}", custom=True, **more)


def pending(name: str, operation: str = "creating") -> PendingOperation:
    return PendingOperation(operation=operation, resource=StateResource(urn=urn(name), type=KIND, id=None, custom=True))


def state(*resources: StateResource, waiting: tuple[PendingOperation, ...] = (), secrets: str = "") -> Checkpoint:
    return Checkpoint(
        serial="s", resources=resources, pending=waiting, outputs={}, secrets=RawSecretsProvider(type=secrets)
    )


class TestSortingOut:
    def test_what_the_state_lacks_is_fresh(self) -> None:
        job = sort_out(state(), {urn("w"): REF})
        assert (dict(job.fresh), job.already, job.broken) == ({urn("w"): REF}, (), ())

    def test_what_the_state_has_whole_is_there_already(self) -> None:
        job = sort_out(state(entry("w")), {urn("w"): REF})
        assert (dict(job.fresh), job.already) == ({}, (urn("w"),))

    def test_what_the_state_has_in_part_is_taken_out_first(self) -> None:
        """A run that was killed leaves it so."""
        job = sort_out(state(entry("w", init_errors=("refused",))), {urn("w"): REF})
        assert (dict(job.fresh), job.broken) == ({urn("w"): REF}, (urn("w"),))

    @pytest.mark.parametrize(
        ("found", "targets"),
        [
            (state(entry("w", uuid_of(2))), {urn("w"): REF}),
            (state(entry("v")), {urn("w"): REF}),
            (state(entry("w", external=True)), {urn("w"): REF}),
            (state(), {urn("v"): REF, urn("w"): REF}),
            (state(), {urn("w*"): REF}),
        ],
        ids=["another id", "another URN", "only read", "one object twice", "a pattern"],
    )
    def test_what_contradicts_the_state_refuses(self, found: Checkpoint, targets: dict[str, Ref]) -> None:
        with pytest.raises(RefusedError) as caught:
            sort_out(found, targets)
        assert caught.value.code == "RC0644"

    def test_an_unfinished_create_of_what_is_in_the_state_is_to_be_cleared(self) -> None:
        found = state(entry("w"), waiting=(pending("w"), pending("other")))
        assert sort_out(found, {urn("w"): REF}).pending(found) == {urn("w"): f"fr-par-1/{uuid_of(1)}"}

    @pytest.mark.parametrize("operation", ["updating", "deleting", "reading"])
    def test_an_operation_that_an_up_forgets_refuses(self, operation: str) -> None:
        with pytest.raises(RefusedError) as caught:
            require_no_loss(NAME, state(waiting=(pending("x", operation),)), {urn("w"): REF})
        assert caught.value.code == "RC0647"

    def test_creates_of_others_and_a_half_cleared_one_of_ours_do_not(self) -> None:
        require_no_loss(NAME, state(waiting=(pending("x"), pending("w", "importing"))), {urn("w"): REF})

    @pytest.mark.parametrize("kind", ["passphrase", "cloud", ""])
    def test_secrets_that_are_read_anywhere_can_be_rehearsed_with(self, kind: str) -> None:
        require_portable(state(secrets=kind))

    @pytest.mark.parametrize("kind", ["service", "something-new"])
    def test_secrets_that_are_read_in_one_place_alone_refuse(self, kind: str) -> None:
        with pytest.raises(RefusedError) as caught:
            require_portable(state(secrets=kind))
        assert caught.value.code == "RC0645"


class TestVerdict:
    def texts(self, found: Any) -> list[str]:
        return [f"{item.path}|{item.cloud}" for item in found]

    def test_a_whole_target_is_no_difference(self) -> None:
        assert self.texts(verdict.of_targets(state(entry("w")), {urn("w"): REF})) == []

    @pytest.mark.parametrize(
        "found",
        [state(), state(entry("w", uuid_of(2))), state(entry("w", init_errors=("x",)))],
        ids=["none", "id", "part"],
    )
    def test_a_target_that_is_not_whole_is_one(self, found: Checkpoint) -> None:
        assert len(self.texts(verdict.of_targets(found, {urn("w"): REF}))) == 1

    def test_nothing_else_may_change(self) -> None:
        before = state(entry("a", uuid_of(5)), entry("b", uuid_of(6)), waiting=(pending("p"),))
        after = state(entry("a", uuid_of(5), inputs={"x": 1}), entry("c", uuid_of(7)), entry("w"))
        found = self.texts(verdict.of_others(before, after, ours=[urn("w")]))
        assert [text.partition("|")[2] for text in found] == [
            "its entry in the state changes",
            "it leaves the state",
            "it enters the state",
            "its pending create leaves the state",
        ]

    def test_what_the_engine_keeps_for_itself_may(self) -> None:
        provider = replace(entry("p"), urn=urn("p", "pulumi:providers:scaleway"), type="pulumi:providers:scaleway")
        assert self.texts(verdict.of_others(state(), state(provider), ours=[])) == []

    def test_a_component_registers_its_outputs_in_every_run(self) -> None:
        """A killed deploy never came to it."""
        before = replace(entry("c"), custom=False, id=None, type="my:mod:C")
        after = replace(before, outputs={"ids": ["a"]})
        assert self.texts(verdict.of_others(state(before), state(after), ours=[])) == []
        assert len(self.texts(verdict.of_others(state(before), state(replace(after, parent="p")), ours=[]))) == 1

    def test_secrets_are_compared_by_where_they_are(self) -> None:
        one, other = entry("w", inputs={"tags": [SECRET]}), entry("w", inputs={"tags": [SECRET]})
        assert verdict.same_entry(one, other)
        assert not verdict.same_entry(one, entry("w", inputs={"tags": ["a"]}))

    def plan(self, changes: dict[str, tuple[Change, ...]] | None = None, **operations: str) -> Plan:
        return Plan(operations={urn(name): op for name, op in operations.items()}, creates={}, changes=changes or {})

    def test_a_plan_that_wants_less_than_before_is_clean(self) -> None:
        before, after = self.plan(w="create", x="update", y="create"), self.plan(w="same", x="same", y="create")
        assert self.texts(verdict.of_plans(before, after, targets=[urn("w")])) == []

    @pytest.mark.parametrize("operation", ["update", "create", "replace", "delete"])
    def test_a_plan_that_wants_anything_of_a_target_is_not(self, operation: str) -> None:
        before, after = self.plan(w="create"), self.plan(w=operation)
        assert len(self.texts(verdict.of_plans(before, after, targets=[urn("w")]))) == 1

    def test_a_plan_that_wants_anything_new_is_not(self) -> None:
        before, after = self.plan(w="create", x="same"), self.plan(w="same", x="update")
        assert self.texts(verdict.of_plans(before, after, targets=[urn("w")])) == ["|an `up` would update it"]

    def test_a_plan_that_does_not_mention_a_target_is_not(self) -> None:
        assert len(self.texts(verdict.of_plans(self.plan(w="create"), self.plan(), targets=[urn("w")]))) == 1

    def test_the_properties_that_a_plan_would_change_are_named(self) -> None:
        change = Change(path="ipIds", old=["x"], new=[])
        after = self.plan({urn("w"): (change,)}, w="update")
        (found,) = verdict.of_plans(self.plan(w="create"), after, targets=[urn("w")])
        assert (found.path, found.program, found.cloud) == ("ipIds", "nothing", '["x"]')

    def test_a_refresh_has_to_say_same(self) -> None:
        operations, failed = {urn("a"): "same", urn("b"): "update"}, {urn("c"): "HTTP 403"}
        found = verdict.of_refresh(operations, failed, targets=[urn("a"), urn("b"), urn("c")])
        assert self.texts(found) == ["|a refresh would update it", "|it was not read: HTTP 403"]


class TestScratch:
    def test_the_copy_holds_the_deployment_as_it_was_exported(self) -> None:
        export = {
            "version": 4,
            "features": ["views"],
            "deployment": {"resources": [], "pending_operations": [{"a": 1}]},
        }
        with place.scratch() as found:
            found.add(StackName("acme", "proj", "dev"), export)
            path = Path(found.url.removeprefix("file://")) / ".pulumi" / "stacks" / "proj" / "dev.json"
            content = json.loads(path.read_text())
        assert content["checkpoint"]["latest"] == export["deployment"]
        assert (content["version"], content["features"]) == (4, ["views"])
        assert content["checkpoint"]["stack"] == "organization/proj/dev"

    def test_it_is_this_users_alone_and_gone_afterwards(self) -> None:
        with place.scratch() as found:
            assert found.directory.stat().st_mode & 0o077 == 0
        assert not found.directory.exists()

    def test_what_a_killed_rehearsal_left_is_removed_by_the_next(self, monkeypatch: Any, tmp_path: Path) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        left = tmp_path / f"{place.PREFIX}left"
        left.mkdir()
        (left / "held").touch()
        with place.scratch() as found:
            assert not left.exists()
            assert found.directory.exists()

    def test_what_another_process_holds_or_is_about_to_hold_stays(self, monkeypatch: Any, tmp_path: Path) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        held, fresh = tmp_path / f"{place.PREFIX}held", tmp_path / f"{place.PREFIX}fresh"
        held.mkdir()
        fresh.mkdir()
        file = os.open(held / "held", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert place.sweep() == 0
        finally:
            os.close(file)
        assert held.exists()
        assert fresh.exists()


def test_a_refusal_shows_five_differences_and_counts_the_rest() -> None:
    differences = tuple(Difference(urn=urn("w"), path=f"p{n}", program="a", cloud="b") for n in range(7))
    error = refused(NAME, differences)
    assert "w: p0: program says a, cloud has b" in error.message
    assert "p4" in error.message
    assert "p5" not in error.message
    assert "(and 2 more)" in error.message
    assert error.differences == differences
