"""What is read before an adoption: the plan of the program, the settings of the stack, the API that it talks to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.engine.adoption import address, digest, names
from reconciler.engine.checkpoint import Checkpoint
from reconciler.engine.shapes import RawSecretsProvider
from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.model.state import SECRET, PendingOperation, StateResource
from reconciler.ports.engine import UNKNOWN

SERVER = "scaleway:instance/server:Server"
URN = f"urn:pulumi:dev::proj::my:mod:C${SERVER}::w0"
STACK_URN = "urn:pulumi:dev::proj::pulumi:pulumi:Stack::proj-dev"
COMPONENT = "urn:pulumi:dev::proj::my:mod:C::c0"
PROVIDER = "urn:pulumi:dev::proj::pulumi:providers:scaleway::p"
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def step(op: str, urn: str = URN, kind: str = SERVER, **more: Any) -> dict[str, Any]:
    detailed = more.pop("detailedDiff", None)
    old = more.pop("oldState", None)
    state = {"urn": urn, "type": kind, "custom": True, "parent": COMPONENT, **more}
    return {"op": op, "urn": urn, "newState": state, "oldState": old, "detailedDiff": detailed}


def decoded(*steps: dict[str, Any], **more: Any) -> digest.Plan:
    return digest.decode(json.dumps({"steps": steps, **more}).encode())[0]


class TestPlan:
    def test_a_create_has_its_inputs_and_all_that_it_needs(self) -> None:
        plan = decoded(
            step(
                "create",
                inputs={"__defaults": [], "tags": ["a"], "ipIds": [UNKNOWN_TEXT]},
                dependencies=["urn:a"],
                propertyDependencies={"ipIds": ["urn:ip"], "tags": []},
                provider=f"{PROVIDER}::{UNKNOWN_TEXT}",
            )
        )
        create = plan.creates[URN].create
        assert (create.name, create.type, create.parent) == ("w0", SERVER, COMPONENT)
        assert create.inputs == {"tags": ["a"], "ipIds": [UNKNOWN]}
        assert create.dependencies == ("urn:a", "urn:ip", COMPONENT, PROVIDER)
        assert plan.operations == {URN: "create"}

    def test_secrets_and_user_data_are_masked(self) -> None:
        inputs = {"tags": ["[secret]", "a"], "cloudInit": "#cloud-config", "userData": {"k": "v"}, "name": "[secret]"}
        found = decoded(step("create", inputs=inputs)).creates[URN].create.inputs
        assert found["tags"][0] is SECRET
        assert found["name"] is found["cloudInit"] is found["userData"] is SECRET

    @pytest.mark.parametrize(
        ("defaults", "expected"), [(["name", "bootType"], True), (["bootType"], False), ([], False)]
    )
    def test_a_name_that_pulumi_makes_up_is_told_from_a_declared_one(self, defaults: list[str], expected: bool) -> None:
        inputs = {"__defaults": defaults, "name": "w0-1a2b3c4"}
        assert decoded(step("create", inputs=inputs)).creates[URN].auto_named is expected

    def test_the_stack_itself_and_references_are_no_creates(self) -> None:
        reference = step("read", "urn:ref", digest.STACK_REFERENCE, inputs={"name": "organization/net/prod"})
        plan = decoded(step("create", STACK_URN, "pulumi:pulumi:Stack"), reference)
        assert plan.creates == {}
        assert plan.references == ("organization/net/prod",)

    def test_a_change_is_shown_with_both_values_masked(self) -> None:
        old = {
            "urn": URN,
            "type": SERVER,
            "custom": True,
            "inputs": {"tags": ["a"]},
            "outputs": {"userData": {"k": "v"}},
        }
        plan = decoded(
            step(
                "update",
                inputs={"tags": ["b"], "userData": {"k": "w"}},
                oldState=old,
                detailedDiff={"tags[0]": {"kind": "update"}, 'userData["k"]': {"kind": "update"}},
            )
        )
        tags, user_data = plan.changes[URN]
        assert (tags.path, tags.old, tags.new) == ("tags[0]", ["a"], ["b"])
        assert user_data.old is user_data.new is SECRET

    def test_errors_of_the_program_are_told(self) -> None:
        raw = {"diagnostics": [{"message": "boom", "severity": "error"}, {"message": "hm", "severity": "warning"}]}
        assert digest.decode(json.dumps(raw).encode())[1] == ["boom"]

    @pytest.mark.parametrize("raw", [b"", b"no json", b"[]", b'{"steps": [{"op": 1}]}', b'{"steps": 3}'])
    def test_what_is_no_plan_is_an_error_without_its_values(self, raw: bytes) -> None:
        with pytest.raises(EngineError) as caught:
            digest.decode(raw)
        assert caught.value.code == "RC0504"


def state(*resources: StateResource, pending: tuple[PendingOperation, ...] = ()) -> Checkpoint:
    return Checkpoint(serial="", resources=resources, pending=pending, outputs={}, secrets=RawSecretsProvider())


class TestNames:
    def test_an_interrupted_create_tells_the_name_that_it_was_sent_with(self) -> None:
        resource = StateResource(urn=URN, type=SERVER, id=None, custom=True, inputs={"name": "w0-9f8e7d6"})
        found = state(pending=(PendingOperation(operation="creating", resource=resource),))
        assert names.from_pending(found) == {URN: "w0-9f8e7d6"}

    def test_the_name_is_bound_to_its_type_and_the_rest_of_the_settings_stays(self) -> None:
        settings: dict[str, Any] = {
            "encryptionsalt": "v1:x",
            "config": {"proj:a": 1, "pulumi:autonaming": {"mode": "verbatim"}},
        }
        found = names.with_names(settings, {SERVER: "w0-9f8e7d6"})
        assert found["encryptionsalt"] == "v1:x"
        assert found["config"]["proj:a"] == 1
        assert found["config"]["pulumi:autonaming"] == {
            "mode": "verbatim",
            "providers": {"scaleway": {"resources": {SERVER: {"pattern": "w0-9f8e7d6", "enforce": True}}}},
        }
        assert settings["config"]["pulumi:autonaming"] == {"mode": "verbatim"}

    @pytest.mark.parametrize(
        ("project", "expected"),
        [
            ({"name": "p"}, "."),
            ({"name": "p", "stackConfigDir": "conf"}, "conf"),
            ({"name": "p", "config": "old"}, "old"),
        ],
    )
    def test_settings_are_where_the_project_keeps_them(
        self, tmp_path: Path, project: dict[str, str], expected: str
    ) -> None:
        (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump(project))
        assert names.settings_path(tmp_path, "dev") == tmp_path / expected / "Pulumi.dev.yaml"

    def test_no_settings_are_empty_ones(self, tmp_path: Path) -> None:
        assert names.configuration(tmp_path, "dev") == {}

    def test_settings_that_cannot_be_read_are_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "Pulumi.dev.yaml").write_text("{")
        with pytest.raises(EngineError) as caught:
            names.configuration(tmp_path, "dev")
        assert caught.value.code == "RC0543"

    def test_the_copy_is_for_this_user_alone(self, tmp_path: Path) -> None:
        assert names.write(tmp_path / "s.yaml", {"config": {}}).stat().st_mode & 0o077 == 0


class TestAddress:
    DEFAULT = "https://api.scaleway.com"

    def provider(self, **inputs: Any) -> StateResource:
        return StateResource(urn=PROVIDER, type="pulumi:providers:scaleway", id="x", custom=True, inputs=inputs)

    def url(self, plan: digest.Plan | None = None, *, found: Checkpoint | None = None, **more: Any) -> str:
        env, settings = more.get("env", {}), more.get("settings", {})
        return address.api_url(plan or decoded(), found or state(), settings, env=env, default=self.DEFAULT)

    def test_nothing_named_is_the_default(self) -> None:
        assert self.url() == self.DEFAULT
        assert self.url(found=state(self.provider())) == self.DEFAULT

    def test_a_provider_in_state_names_it(self) -> None:
        assert self.url(found=state(self.provider(apiUrl="http://127.0.0.1:1"))) == "http://127.0.0.1:1"

    def test_a_provider_that_is_to_be_made_names_it(self) -> None:
        inputs = {"apiUrl": "http://127.0.0.1:2"}
        assert (
            self.url(decoded(step("create", PROVIDER, "pulumi:providers:scaleway", inputs=inputs)))
            == "http://127.0.0.1:2"
        )

    def test_the_settings_name_it_for_a_provider_that_nobody_has_yet(self) -> None:
        assert self.url(settings={"config": {"scaleway:apiUrl": "http://127.0.0.1:3"}}) == "http://127.0.0.1:3"

    def test_the_environment_wins(self) -> None:
        env = {"SCW_API_URL": "http://127.0.0.1:4"}
        assert self.url(found=state(self.provider(apiUrl="http://127.0.0.1:1")), env=env) == "http://127.0.0.1:4"

    @pytest.mark.parametrize(
        "inputs", [{"apiUrl": SECRET}, {"apiUrl": {"secure": "v1"}}, {"apiUrl": "[unknown]"}, {"endpoints": {"a": "b"}}]
    )
    def test_what_cannot_be_read_plainly_refuses(self, inputs: dict[str, Any]) -> None:
        with pytest.raises(RefusedError) as caught:
            self.url(found=state(self.provider(**inputs)))
        assert caught.value.code == "RC0643"

    def test_two_apis_refuse(self) -> None:
        inputs = {"apiUrl": "http://127.0.0.1:2"}
        plan = decoded(step("create", f"{PROVIDER}2", "pulumi:providers:scaleway", inputs=inputs))
        with pytest.raises(RefusedError) as caught:
            self.url(plan, found=state(self.provider()))
        assert "several API URLs" in caught.value.message
