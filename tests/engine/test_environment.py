"""What a child is given, and what never comes out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.environment import Scrubber, child_environment, is_noise

KEY = "0a1b2c3d-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    "name",
    [
        "PULUMI_OPTION_SHOW_SECRETS",
        "PULUMI_OPTION_TARGET_DEPENDENTS",
        "PULUMI_RUN_PROGRAM",
        "PULUMI_SKIP_CHECKPOINTS",
        "PULUMI_ENABLE_LEGACY_REFRESH_DIFF",
        "TF_LOG",
        "RECONCILER_DATABASE_URL",
    ],
)
def test_a_variable_that_would_change_our_commands_is_not_passed_on(name: str) -> None:
    assert name not in child_environment({name: "true", "PATH": "/bin"}, backend=None)


def test_what_the_user_chose_is_passed_on() -> None:
    chosen = {"AWS_PROFILE": "ci", "PULUMI_HOME": "/p", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}
    assert chosen.items() <= child_environment(chosen, backend=None).items()


def test_the_secrets_manager_is_that_of_the_state_and_no_update_is_looked_for() -> None:
    env = child_environment({}, backend="file:///s", mark="m", SCW_API_URL="http://127.0.0.1:1")
    assert env["PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER"] == "true"
    assert env["PULUMI_SKIP_UPDATE_CHECK"] == "true"
    assert env["PULUMI_BACKEND_URL"] == "file:///s"
    assert env["RECONCILER_CHILD"] == "m"
    assert env["SCW_API_URL"] == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    "name",
    ["SCW_SECRET_KEY", "PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD"],
)
def test_a_secret_of_the_environment_is_taken_out_of_text(name: str) -> None:
    assert KEY not in Scrubber({name: KEY}).clean(f"denied for {KEY}: again {KEY}")


def test_a_short_passphrase_is_taken_out_too() -> None:
    assert Scrubber({"PULUMI_CONFIG_PASSPHRASE": "pw"}).clean("bad pw") == "bad [secret]"


def test_a_file_name_and_a_public_id_stay() -> None:
    scrubber = Scrubber({"PULUMI_CONFIG_PASSPHRASE_FILE": "/run/pass", "SCW_DEFAULT_PROJECT_ID": KEY})
    assert scrubber.clean(f"/run/pass {KEY}") == f"/run/pass {KEY}"


def test_the_longer_of_two_secrets_goes_first() -> None:
    scrubber = Scrubber({"PULUMI_CONFIG_PASSPHRASE": "abc", "SCW_SECRET_KEY": "abcdef"})
    assert scrubber.clean("abcdef") == "[secret]"


def test_a_password_in_a_url_is_taken_out() -> None:
    assert "hunter2" not in Scrubber({}).clean("open postgres://ci:hunter2@db:5432/x failed")


def test_a_message_is_one_line_without_noise() -> None:
    text = (
        "warning: using pulumi-resource-scaleway from $PATH at /usr/bin/pulumi-resource-scaleway\n\n"
        "error: no stack\x1b[2J named x\nsecond\n"
    )
    assert Scrubber({}).message(text) == "no stack\\x1b[2J named x | second"


def test_the_plugin_warning_is_noise_and_nothing_else_is() -> None:
    assert is_noise("using pulumi-resource-scaleway from $PATH at /x\n")
    assert not is_noise("read failed using the token from $PATH")


def test_a_scrubber_shows_no_secret_of_its_own() -> None:
    assert KEY not in repr(Scrubber({"SCW_SECRET_KEY": KEY}))


@given(secret=st.text("abcdef0123456789-", min_size=6), before=st.text("xyz "), after=st.text("xyz "))
def test_no_named_secret_is_left_in_a_message(secret: str, before: str, after: str) -> None:
    assert secret not in Scrubber({"SCW_SECRET_KEY": secret}).message(before + secret + after, limit=10_000)
