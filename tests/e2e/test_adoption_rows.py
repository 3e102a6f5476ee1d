"""Adoption with the real engine and the real provider: one row per shape; `make adoption` has the whole product."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import pytest

from reconciler.engine.adoption.adopter import Adopter
from reconciler.engine.adoption.bench import Bench
from reconciler.engine.adoption.gate import AdoptionGate
from reconciler.engine.events import Events
from reconciler.engine.gate import Answer, Change
from reconciler.kernel.errors import AuthenticationError, EngineError, RefusedError
from reconciler.model.resources import Kind, Ref
from reconciler.model.state import SECRET
from reconciler.ports.engine import AdoptionRefused, AdoptionResult, ChildProcess
from reconciler.simulator import FaultRule
from tests.e2e.adoption_parts import kills, programs, rows
from tests.e2e.adoption_parts.misses import MISSES
from tests.e2e.adoption_parts.rows import KILLED, killed_deploy
from tests.e2e.adoption_parts.shapes import CLOUD_INIT, SHAPES, VARIANTS, Shape
from tests.e2e.adoption_parts.site import STACK, Site
from tests.e2e.rig import missing_tool

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(600),
    pytest.mark.skipif(missing_tool() is not None, reason=f"{missing_tool()} is not on PATH: make toolchain"),
]
_BY_NAME = {shape.name: shape for shape in SHAPES}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_is_adopted_and_its_near_miss_is_refused(shape: Shape) -> None:
    """The other variants and misses of a shape are in `make adoption`."""
    number = SHAPES.index(shape)
    row = rows.run(
        shape, [VARIANTS[number % 4]], misses=[MISSES[number % 4]], killed=shape.name in KILLED and number % 2 == 1
    )
    assert row.faults == []
    assert (row.adopted > 0, row.refused) == (True, 1)


@pytest.mark.parametrize(
    "program",
    [program for program in programs.PROGRAMS if program.name not in ("local storage", "not running")],
    ids=str,
)
def test_a_program_that_knows_nothing_of_us_is_adopted(program: programs.Program) -> None:
    row = programs.run(program)
    assert row.faults == []
    assert row.adopted > 0


def test_an_adoption_that_is_killed_is_finished_by_the_next() -> None:
    """In the rehearsal, in the middle of the run in earnest, and before its last step."""
    assert kills.run(["child:2", "answered:4", "after:6"]).faults == {}


class Interrupted:
    """Two workers of a killed deploy: one to adopt, and one whose pending create must survive everything."""

    def __init__(self, site: Site) -> None:
        self.site = site
        shape = _BY_NAME["extra volumes"]
        site.describe([item for variant in VARIANTS[:2] for item in shape.worker(variant)])
        site.begin()
        self.all: Mapping[str, Ref] = killed_deploy(site, 2)
        (self.urn, self.ref), (self.other_urn, self.other) = sorted(self.all.items())
        self.targets = {self.urn: self.ref}
        self.calls = len(site.mutating_calls())
        self.start = site.checkpoint()

    def adopt(self, on_child: Callable[[ChildProcess], None] | None = None, **env: str) -> AdoptionResult:
        return self.site.engine(**env).adopt(STACK, self.targets, on_child=on_child or self.site.children.append)

    def rehearse(self, targets: Mapping[str, Ref] | None = None) -> list[tuple[str, str]]:
        found = self.site.engine().rehearse_adoption(STACK, targets or self.targets)
        assert found.ok == (not found.differences)
        return [(difference.urn, difference.path) for difference in found.differences]

    def pending(self) -> list[str]:
        return sorted(item.resource.urn for item in self.site.state().pending)

    def entries(self) -> dict[str, object]:
        """Inputs and outputs of everything in the state, and what is pending, without times and ciphertexts."""
        state = self.site.state()
        found: dict[str, object] = {
            item.urn: (item.id, repr(item.inputs), item.init_errors) for item in state.resources
        }
        return {**found, "pending": self.pending()}

    def require_untouched(self) -> None:
        """The cloud saw reads alone, and nobody is left."""
        assert self.site.mutating_calls()[self.calls :] == []
        self.site.require_clean()


@pytest.fixture
def interrupted(tmp_path: Path) -> Iterator[Interrupted]:
    with Site(tmp_path) as site:
        yield Interrupted(site)


def test_only_what_is_named_enters_the_state_and_the_other_create_stays_pending(interrupted: Interrupted) -> None:
    planned = {item.urn: item for item in interrupted.site.engine().planned_creates(STACK)}
    assert planned.keys() == interrupted.all.keys()
    assert planned[interrupted.urn].inputs["cloudInit"] is SECRET
    result = interrupted.adopt()
    assert result.adopted == (interrupted.urn,)
    assert result.lock_seconds > 0
    assert interrupted.pending() == [interrupted.other_urn]
    assert interrupted.site.state().by_urn[interrupted.urn].ref == interrupted.ref
    # Again: there is nothing to do, and nothing is run.
    before, children = interrupted.site.checkpoint(), len(interrupted.site.children)
    assert interrupted.adopt() == AdoptionResult(adopted=(), already=(interrupted.urn,))
    assert (interrupted.site.checkpoint(), len(interrupted.site.children)) == (before, children)
    with pytest.raises(RefusedError) as caught:
        interrupted.site.adopt({interrupted.other_urn: interrupted.ref})
    assert caught.value.code == "RC0644"
    assert interrupted.site.adopt({interrupted.other_urn: interrupted.other}).adopted == (interrupted.other_urn,)
    interrupted.require_untouched()
    interrupted.site.require_quiet()


def move_after_create(interrupted: Interrupted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the machine's user data as soon as its create has been answered in earnest."""
    served, creates = AdoptionGate.change, list[Change]()

    def move(self: AdoptionGate, call: Change) -> Answer:
        answer = served(self, call)
        if call.target.endswith("/servers"):
            creates.append(call)
            if len(creates) == 2:  # the first was in the rehearsal
                interrupted.site.stranger("set_user_data", server=interrupted.ref.id, key="cloud-init", value="other")
        return answer

    monkeypatch.setattr(AdoptionGate, "change", move)


class TestAWorldThatMoves:
    """Between the rehearsal and the run in earnest: then what came in is taken out again."""

    def test_before_the_create(self, interrupted: Interrupted) -> None:
        before, site = interrupted.entries(), interrupted.site

        def move(_child: ChildProcess) -> None:
            site.stranger("set_tags", id=interrupted.ref.id, tags=["moved"])

        with pytest.raises(AdoptionRefused) as caught:
            interrupted.adopt(move)
        assert [difference.path for difference in caught.value.differences] == ["tags"]
        assert interrupted.entries() == before
        interrupted.require_untouched()

    def test_after_the_create(self, interrupted: Interrupted, monkeypatch: pytest.MonkeyPatch) -> None:
        """The entry was in the state in part, and the evidence of the interrupted run outlives it."""
        before = interrupted.entries()
        move_after_create(interrupted, monkeypatch)
        with pytest.raises(AdoptionRefused) as caught:
            interrupted.adopt()
        assert [difference.path for difference in caught.value.differences] == ["cloudInit"]
        assert interrupted.entries() == before
        interrupted.require_untouched()

    def test_and_nobody_is_left_to_take_it_out(self, interrupted: Interrupted, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run that was killed leaves the entry in part; the next one begins with taking it out."""
        site = interrupted.site
        with monkeypatch.context() as killed:
            move_after_create(interrupted, killed)
            killed.setattr(Adopter, "_take_back", lambda *_: None)
            with pytest.raises(AdoptionRefused):
                interrupted.adopt()
        entry = site.state().by_urn[interrupted.urn]
        assert (entry.ref, len(entry.init_errors)) == (interrupted.ref, 1)
        assert interrupted.rehearse() == [(interrupted.urn, "cloudInit")]
        assert site.state().by_urn[interrupted.urn].init_errors
        site.stranger("set_user_data", server=interrupted.ref.id, key="cloud-init", value=CLOUD_INIT)
        assert interrupted.adopt().adopted == (interrupted.urn,)
        assert site.state().by_urn[interrupted.urn].init_errors == ()
        assert interrupted.pending() == [interrupted.other_urn]
        interrupted.require_untouched()

    def test_a_stack_that_moves_is_left_alone(self, interrupted: Interrupted, monkeypatch: pytest.MonkeyPatch) -> None:
        site, preview = interrupted.site, Bench.preview_refresh

        def move(self: Bench, urns: Collection[str]) -> Events:
            site.forget([next(urn for urn in site.refs())])
            return preview(self, urns)

        monkeypatch.setattr(Bench, "preview_refresh", move)
        with pytest.raises(RefusedError) as caught:
            interrupted.adopt()
        assert caught.value.code == "RC0646"
        assert interrupted.urn not in site.state().by_urn
        interrupted.require_untouched()


def test_what_differs_is_named_and_a_machines_own_key_is_no_difference(interrupted: Interrupted) -> None:
    site, server = interrupted.site, interrupted.ref.id
    site.stranger("set_user_data", server=server, key="ssh-host-fingerprints", value="256 SHA256:x")
    assert interrupted.rehearse() == []
    site.stranger("set_user_data", server=server, key="token", value="hunter2")
    assert interrupted.rehearse() == [(interrupted.urn, 'userData["token"]')]
    site.stranger("stop_server", server=interrupted.other.id)
    assert interrupted.rehearse({interrupted.other_urn: interrupted.other}) == [(interrupted.other_urn, "state")]
    gone = Ref(Kind.SERVER, interrupted.ref.zone, "00000000-0000-4000-8000-000000000009")
    assert interrupted.rehearse({interrupted.urn: gone}) == [(interrupted.urn, "")]
    assert site.checkpoint() == interrupted.start
    interrupted.require_untouched()


def test_what_cannot_be_read_is_an_error_and_no_difference(interrupted: Interrupted) -> None:
    site = interrupted.site
    rule = FaultRule(method="GET", path="/instance/v1/zones/*/servers/*", status=403, body="permissions_denied")
    site.simulator.faults.set([rule])
    with pytest.raises(EngineError) as unread:
        interrupted.adopt()
    assert unread.value.code == "RC0542"
    site.simulator.faults.set([])
    with pytest.raises(AuthenticationError):
        interrupted.adopt(SCW_SECRET_KEY="00000000-0000-4000-8000-000000000000")
    with pytest.raises(EngineError) as locked:
        interrupted.adopt(PULUMI_CONFIG_PASSPHRASE="wrong")
    assert locked.value.code == "RC0511"
    assert site.checkpoint() == interrupted.start
    interrupted.require_untouched()


def test_a_program_that_fails_is_told_without_its_secrets(interrupted: Interrupted) -> None:
    interrupted.site.write_program("raise ValueError('boom, the passphrase is correct horse')")
    with pytest.raises(EngineError) as caught:
        interrupted.site.engine().planned_creates(STACK)
    assert caught.value.code == "RC0541"
    assert "boom" in caught.value.message
    assert "correct horse" not in caught.value.message


def test_a_program_that_does_not_declare_it_is_refused_before_anything_runs(interrupted: Interrupted) -> None:
    interrupted.site.describe([])
    with pytest.raises(RefusedError) as caught:
        interrupted.adopt()
    assert caught.value.code == "RC0641"
    assert interrupted.site.checkpoint() == interrupted.start
    interrupted.require_untouched()


def test_a_stack_that_somebody_holds_is_refused(interrupted: Interrupted) -> None:
    site = interrupted.site
    lock = site.backend / ".pulumi" / "locks" / "organization" / "fleet" / "prod" / "x.json"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(
        json.dumps({"pid": 1, "username": "ci", "hostname": "elsewhere", "timestamp": "2026-11-29T00:00:00Z"})
    )
    with pytest.raises(RefusedError) as caught:
        interrupted.adopt()
    assert caught.value.code == "RC0611"
    lock.unlink()
    assert site.checkpoint() == interrupted.start


def test_a_project_without_a_directory_has_no_program(tmp_path: Path) -> None:
    with Site(tmp_path) as site:
        site.begin()
        (site.project / "Pulumi.yaml").write_text("name: another\nruntime: python\n")
        with pytest.raises(EngineError) as caught:
            site.engine().planned_creates(STACK)
    assert caught.value.code == "RC0540"


def test_a_secret_never_shows_in_a_refusal(interrupted: Interrupted) -> None:
    interrupted.site.stranger("set_user_data", server=interrupted.ref.id, key="cloud-init", value="another secret text")
    with pytest.raises(AdoptionRefused) as caught:
        interrupted.adopt()
    said = f"{caught.value} {caught.value.differences}"
    assert "another secret text" not in said
    assert CLOUD_INIT.strip() not in said
