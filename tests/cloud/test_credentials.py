"""Where the key comes from, and what is said when it does not."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from reconciler.cloud.credentials import DEFAULT_API_URL, Credentials, Secret, load_credentials
from reconciler.kernel.errors import AuthenticationError, ConfigError

ACCESS = "SCWABCDEFGHIJ0123456"
OTHER_ACCESS = "SCWZZZZZZZZZZ0123456"
SECRET = "5ca1ab1e-0000-4000-8000-00000000abcd"
OTHER_SECRET = "0ddba115-0000-4000-8000-00000000abcd"
PROJECT = "105bdce1-64c0-48ab-899d-868455867ecf"
ENV = {"SCW_ACCESS_KEY": ACCESS, "SCW_SECRET_KEY": SECRET, "SCW_DEFAULT_PROJECT_ID": PROJECT}

FILE = f"""
access_key: {ACCESS}
secret_key: {SECRET}
default_project_id: {PROJECT}
active_profile: staging
profiles:
  staging:
    secret_key: {OTHER_SECRET}
    api_url: https://api.staging.example
  broken:
    secret_key: 12345
"""


def write(path: Path, text: str = FILE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_environment_alone_is_enough() -> None:
    found = load_credentials(ENV)
    assert found == Credentials(secret_key=Secret(SECRET), project=PROJECT, access_key=ACCESS, api_url=DEFAULT_API_URL)


def test_the_active_profile_lies_over_the_top_level(tmp_path: Path) -> None:
    found = load_credentials({"SCW_CONFIG_PATH": str(write(tmp_path / "scw.yaml"))})
    assert found.secret_key.reveal() == OTHER_SECRET
    assert found.access_key == ACCESS
    assert found.api_url == "https://api.staging.example"


def test_scw_profile_wins_over_active_profile(tmp_path: Path) -> None:
    path = write(tmp_path / "scw.yaml")
    found = load_credentials({"SCW_CONFIG_PATH": str(path), "SCW_PROFILE": "default"})
    assert found.secret_key.reveal() == SECRET
    assert found.api_url == DEFAULT_API_URL


def test_a_variable_wins_over_the_file_one_by_one(tmp_path: Path) -> None:
    path = write(tmp_path / "scw.yaml")
    found = load_credentials({"SCW_CONFIG_PATH": str(path), "SCW_ACCESS_KEY": OTHER_ACCESS})
    assert found.access_key == OTHER_ACCESS
    assert found.secret_key.reveal() == OTHER_SECRET


@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "HOME"])
def test_the_file_is_found_where_scw_looks_for_it(tmp_path: Path, variable: str) -> None:
    folder = tmp_path if variable == "XDG_CONFIG_HOME" else tmp_path / ".config"
    write(folder / "scw" / "config.yaml")
    assert load_credentials({variable: str(tmp_path)}).access_key == ACCESS


def test_the_secret_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "secret", f"{SECRET}\n")
    env = {"SCW_SECRET_KEY_FILE": str(path), "SCW_DEFAULT_PROJECT_ID": PROJECT}
    assert load_credentials(env).secret_key.reveal() == SECRET


def test_other_variables_can_hold_a_second_key() -> None:
    env = {**ENV, "ACT_SECRET_KEY": OTHER_SECRET, "ACT_ACCESS_KEY": OTHER_ACCESS}
    found = load_credentials(env, secret_key_env="ACT_SECRET_KEY", access_key_env="ACT_ACCESS_KEY")
    assert (found.secret_key.reveal(), found.access_key) == (OTHER_SECRET, OTHER_ACCESS)


def test_the_project_of_the_scope_wins() -> None:
    other = "51b656e3-4865-41e8-adbc-0c45bdd780db"
    assert load_credentials(ENV, project=other).project == other


def test_no_key_at_all_is_an_authentication_error_that_names_the_variable() -> None:
    with pytest.raises(AuthenticationError, match="SCW_SECRET_KEY") as caught:
        load_credentials({"SCW_DEFAULT_PROJECT_ID": PROJECT})
    assert (caught.value.code, caught.value.exit_status) == ("RC0301", 3)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"SCW_ACCESS_KEY": "SCWshort"}, "RC0302", "SCW_ACCESS_KEY"),
        ({"SCW_ACCESS_KEY": ACCESS.lower()}, "RC0302", "SCW_ACCESS_KEY"),
        ({"SCW_SECRET_KEY": "hunter2"}, "RC0303", "SCW_SECRET_KEY"),
        ({"SCW_DEFAULT_PROJECT_ID": "my-project"}, "RC0304", "SCW_DEFAULT_PROJECT_ID"),
        ({"SCW_DEFAULT_PROJECT_ID": ""}, "RC0306", "SCW_DEFAULT_PROJECT_ID"),
        ({"SCW_API_URL": "api.scaleway.com"}, "RC0307", "SCW_API_URL"),
        ({"SCW_API_URL": "https://api.scaleway.com/instance"}, "RC0307", "SCW_API_URL"),
        ({"SCW_API_URL": "https://user:pass@api.scaleway.com"}, "RC0307", "SCW_API_URL"),
        ({"SCW_API_URL": "https://api.scaleway.com?x=1"}, "RC0307", "SCW_API_URL"),
        ({"SCW_API_URL": "https://api.scaleway.com:port"}, "RC0307", "SCW_API_URL"),
        ({"SCW_API_URL": "ftp://api.scaleway.com"}, "RC0307", "SCW_API_URL"),
        ({"SCW_API_URL": "http://api.scaleway.com"}, "RC0308", "unencrypted"),
        ({"SCW_API_URL": "http://localhost.example.com"}, "RC0308", "unencrypted"),
        ({"SCW_SECRET_KEY": "", "SCW_SECRET_KEY_FILE": "/nowhere/at/all"}, "RC0305", "SCW_SECRET_KEY_FILE"),
        ({"SCW_CONFIG_PATH": "/nowhere/at/all.yaml"}, "RC0310", "SCW_CONFIG_PATH"),
        ({"SCW_PROFILE": "staging"}, "RC0311", "SCW_PROFILE"),
    ],
)
def test_a_malformed_value_names_its_variable(change: dict[str, str], code: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_credentials({**ENV, **change})
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "profile", "code", "words"),
    [
        (FILE, "broken", "RC0312", "secret_key in"),
        (FILE, "absent", "RC0311", "no profile 'absent'"),
        ("secret_key: [", "", "RC0310", "not YAML at line"),
        ("- a\n- b\n", "", "RC0310", "not a mapping"),
        (f"secret_key: {SECRET}\nactive_profile: x\n", "", "RC0311", "no profile 'x'"),
        ("secret_key: nonsense\n", "", "RC0303", "secret_key in profile default"),
    ],
)
def test_a_malformed_file_is_named_with_its_key(tmp_path: Path, text: str, profile: str, code: str, words: str) -> None:
    env = {"SCW_CONFIG_PATH": str(write(tmp_path / "scw.yaml", text)), "SCW_PROFILE": profile}
    with pytest.raises(ConfigError, match=words) as caught:
        load_credentials({**env, "SCW_DEFAULT_PROJECT_ID": PROJECT})
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.scaleway.com/", "https://api.scaleway.com"),
        ("https://API.scaleway.com:8443", "https://api.scaleway.com:8443"),
        ("http://127.0.0.1:4599/", "http://127.0.0.1:4599"),
        ("http://127.1.2.3:1", "http://127.1.2.3:1"),
        ("http://localhost", "http://localhost"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_the_api_url_is_kept_as_scheme_host_and_port(given: str, kept: str) -> None:
    assert load_credentials({**ENV, "SCW_API_URL": given}).api_url == kept


def test_plain_http_beyond_loopback_must_be_asked_for() -> None:
    found = load_credentials({**ENV, "SCW_API_URL": "http://emulator:8080"}, allow_plain_http=True)
    assert found.api_url == "http://emulator:8080"


class TestSecrecy:
    def test_no_text_form_of_a_secret_shows_it(self) -> None:
        found = load_credentials(ENV)
        for text in (repr(found), str(found), f"{found.secret_key}", f"{found.secret_key!r}", f"{[found.secret_key]}"):
            assert SECRET not in text

    def test_a_secret_is_not_pickled(self) -> None:
        with pytest.raises(TypeError):
            pickle.dumps(Secret(SECRET))

    @pytest.mark.parametrize("bad", ["hunter2-very-secret", f"{SECRET}x"])
    def test_no_error_shows_a_malformed_secret(self, tmp_path: Path, bad: str) -> None:
        path = write(tmp_path / "scw.yaml", f"secret_key: {bad}\n")
        for env in ({**ENV, "SCW_SECRET_KEY": bad}, {"SCW_CONFIG_PATH": str(path), "SCW_DEFAULT_PROJECT_ID": PROJECT}):
            with pytest.raises(ConfigError) as caught:
                load_credentials(env)
            assert bad not in f"{caught.value.message} {caught.value.hint}"

    def test_a_yaml_error_does_not_quote_the_file(self, tmp_path: Path) -> None:
        path = write(tmp_path / "scw.yaml", f"secret_key: {SECRET}: oops: [")
        with pytest.raises(ConfigError) as caught:
            load_credentials({"SCW_CONFIG_PATH": str(path)})
        assert SECRET not in caught.value.message
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
