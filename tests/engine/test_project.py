"""A refresh needs a project directory; without one it gets one that encrypts as the state does."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reconciler.engine.project import project_directory, stack_settings
from reconciler.engine.shapes import RawSecretsProvider
from reconciler.engine.stacks import StackName
from reconciler.kernel.errors import EngineError

NAME = StackName("organization", "proj", "dev")
NOWHERE = Path("/nowhere")
PASSPHRASE = RawSecretsProvider(type="passphrase", state={"salt": "v1:abc:v1:def"})


def test_a_made_up_directory_holds_the_name_and_the_salt_and_is_gone_after() -> None:
    with project_directory(NAME, PASSPHRASE, configured={}, default=NOWHERE) as directory:
        assert yaml.safe_load((directory / "Pulumi.yaml").read_text()) == {"name": "proj", "runtime": "python"}
        assert yaml.safe_load((directory / "Pulumi.dev.yaml").read_text()) == {"encryptionsalt": "v1:abc:v1:def"}
    assert not directory.exists()


@pytest.mark.parametrize(
    ("secrets", "settings"),
    [
        (PASSPHRASE, {"encryptionsalt": "v1:abc:v1:def"}),
        (
            RawSecretsProvider(type="cloud", state={"url": "awskms://k", "encryptedkey": "QUJD"}),
            {"secretsprovider": "awskms://k", "encryptedkey": "QUJD"},
        ),
        (RawSecretsProvider(type="cloud", state={"url": "awskms://k"}), {"secretsprovider": "awskms://k"}),
        (RawSecretsProvider(type="service", state={"owner": "acme"}), {}),
        (RawSecretsProvider(), {}),
    ],
    ids=["passphrase", "kms", "kms-without-key", "pulumi-cloud", "none"],
)
def test_the_settings_are_those_of_the_state(secrets: RawSecretsProvider, settings: dict[str, str]) -> None:
    assert stack_settings(secrets) == settings


def test_a_configured_directory_is_used_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: proj\nruntime: python\n")
    with project_directory(NAME, PASSPHRASE, configured={"proj": tmp_path}, default=NOWHERE) as directory:
        assert directory == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["Pulumi.yaml"]


@pytest.mark.parametrize("text", [None, "name: other\n", "{", "[]"], ids=["none", "another's", "no yaml", "no project"])
def test_a_directory_of_another_project_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "Pulumi.yaml").write_text(text)
    found = project_directory(NAME, PASSPHRASE, configured={"proj": tmp_path}, default=NOWHERE)
    with pytest.raises(EngineError) as caught, found:
        pass
    assert caught.value.code == "RC0515"


def test_the_working_directory_is_used_for_the_project_that_it_holds(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: proj\n")
    with project_directory(NAME, PASSPHRASE, configured={}, default=tmp_path) as directory:
        assert directory == tmp_path


@pytest.mark.parametrize("text", ["name: other\n", "{", "\x00"])
def test_a_working_directory_of_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text)
    with project_directory(NAME, PASSPHRASE, configured={}, default=tmp_path) as directory:
        assert directory != tmp_path
