"""Settings: precedence, origins, secrets, sentences."""

import logging
from pathlib import Path

import pytest

from bridge_agent.base.errors import ExitCode, SettingsError
from bridge_agent.settings import (
    Address,
    BridgeSettings,
    HomeSettings,
    NamedFolder,
    WorkerSettings,
    warn_of_unknown,
)


def load(tmp_path: Path, environ=None, flags=None, file=None):
    if file is not None:
        (tmp_path / "bridge.toml").write_text(file)
    return BridgeSettings.load({"BRIDGE_DATA_DIR": str(tmp_path), **(environ or {})}, flags)


def test_flag_beats_environment_beats_file_beats_default(tmp_path):
    file = 'listen = "127.0.0.1:1"\nheartbeat_seconds = 5\nname = "file"'
    settings = load(
        tmp_path, {"BRIDGE_LISTEN": "127.0.0.1:2", "BRIDGE_NAME": ""}, {"listen": "[::1]:3"}, file
    )
    assert settings.listen == Address("::1", 3)
    assert settings.heartbeat_seconds == 5
    assert settings.name == "file"
    assert settings.claim_wait_seconds == 25
    shown = {
        name: settings.origins[name].source for name in ("listen", "heartbeat_seconds", "claim_wait_seconds")
    }
    assert shown == {"listen": "flag", "heartbeat_seconds": "file", "claim_wait_seconds": "default"}


def test_the_documented_defaults(tmp_path):
    settings = load(tmp_path)
    assert str(settings.listen) == "127.0.0.1:13380"
    assert settings.listen.loopback
    home = HomeSettings.load({"BRIDGE_HOME_DATA_DIR": str(tmp_path)})
    assert str(home.listen) == "127.0.0.1:13390"
    assert (home.lease_seconds, home.online_seconds, home.pair_code_seconds) == (120, 120, 900)
    assert (home.max_attempts, home.capability_seconds) == (3, 5)


def test_a_secret_comes_from_a_file_too_without_its_last_newline(tmp_path):
    (tmp_path / "code").write_text("ABCD-EFGH\n")
    settings = load(tmp_path, {"BRIDGE_PAIR_CODE_FILE": str(tmp_path / "code")})
    assert settings.pair_code == "ABCD-EFGH"
    with pytest.raises(SettingsError, match="BRIDGE_PAIR_CODE_FILE names"):
        load(tmp_path, {"BRIDGE_PAIR_CODE_FILE": str(tmp_path / "none")})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BRIDGE_LISTEN", "13380"),
        ("BRIDGE_LISTEN", "a:99999"),
        ("BRIDGE_HEARTBEAT_SECONDS", "0"),
        ("BRIDGE_HEARTBEAT_SECONDS", "nan"),
        ("BRIDGE_HEARTBEAT_SECONDS", "soon"),
        ("BRIDGE_PUBLIC_URL", "ftp://x"),
        ("BRIDGE_PUBLIC_URL", "http://x:99999"),
        ("BRIDGE_PUBLIC_URL", "http://[::1"),
        ("BRIDGE_TOKEN_STORE", "cloud"),
    ],
)
def test_a_wrong_value_names_its_setting_and_what_it_needs(tmp_path, name, value):
    with pytest.raises(SettingsError, match=name) as caught:
        load(tmp_path, {name: value})
    assert caught.value.exit_code == ExitCode.USAGE
    assert "but needs " in caught.value.message


@pytest.mark.parametrize(("name", "value"), [("MAX_ATTEMPTS", "1.5"), ("TRUSTED_PROXIES", "10.0.0.0/99")])
def test_a_wrong_value_of_the_home_server_says_what_it_needs(tmp_path, name, value):
    with pytest.raises(SettingsError, match=f"BRIDGE_HOME_{name} is .* but needs"):
        HomeSettings.load({"BRIDGE_HOME_DATA_DIR": str(tmp_path), f"BRIDGE_HOME_{name}": value})


def test_blanks_at_a_passwords_ends_belong_to_it(tmp_path):
    given = {"BRIDGE_HOME_DATA_DIR": str(tmp_path), "BRIDGE_HOME_ADMIN_PASSWORD": " a b "}
    assert HomeSettings.load(given).admin_password == " a b "
    given["BRIDGE_HOME_ADMIN_PASSWORD"] = "  "
    assert HomeSettings.load(given).admin_password == ""


def test_a_wrong_secret_is_not_repeated(tmp_path):
    with pytest.raises(SettingsError) as caught:
        HomeSettings.load({"BRIDGE_HOME_DATA_DIR": str(tmp_path), "BRIDGE_HOME_LIBRARIES": "nonsense"})
    assert "Name=/path" in caught.value.message


def test_a_typo_in_the_file_is_named_with_the_nearest_setting(tmp_path):
    with pytest.raises(SettingsError, match="did you mean heartbeat_seconds"):
        load(tmp_path, file="hartbeat_seconds = 3")


def test_a_broken_file_is_named(tmp_path):
    with pytest.raises(SettingsError, match="bridge.toml can't be read"):
        load(tmp_path, file="listen = ")


def test_libraries_are_names_and_folders(tmp_path):
    home = HomeSettings.load(
        {"BRIDGE_HOME_DATA_DIR": str(tmp_path), "BRIDGE_HOME_LIBRARIES": "Books=/a b;Kids = /k;"}
    )
    assert home.libraries == (NamedFolder("Books", Path("/a b")), NamedFolder("Kids", Path("/k")))


def test_an_unknown_name_is_warned_of(caplog):
    caplog.set_level(logging.WARNING)
    warn_of_unknown(
        {"BRIDGE_LISTN": "x", "BRIDGE_HOME_LISTEN": "y", "BRIDGE_PAIR_CODE_FILE": "z", "PATH": "p"}
    )
    assert [r.getMessage() for r in caplog.records] == [
        "Nothing reads the environment variable BRIDGE_LISTN; did you mean BRIDGE_LISTEN?"
    ]


def test_a_name_that_is_like_none_is_not_guessed_at(caplog):
    warn_of_unknown({"BRIDGE_NONSENSE": "x"})
    assert [r.getMessage() for r in caplog.records] == [
        "Nothing reads the environment variable BRIDGE_NONSENSE; take it out, or mend its name."
    ]


def test_a_data_folder_that_is_a_file_is_told_with_the_next_step(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(SettingsError, match="--data-dir"):
        BridgeSettings.load({"BRIDGE_DATA_DIR": str(tmp_path / "taken")})


def test_a_table_of_the_file_holds_the_settings_of_its_section(tmp_path):
    settings = load(tmp_path, file='name = "Study"\n[speech]\nmodel = "base"\nprocesses = 0')
    assert (settings.name, settings.speech_model, settings.speech_processes) == ("Study", "base", 0)
    assert settings.origins["speech_model"].name == "[speech] model"
    assert load(tmp_path, file='speech_model = "tiny"').speech_model == "tiny"


def test_speech_settings_have_the_documented_defaults(tmp_path):
    settings = load(tmp_path)
    assert (settings.speech_model, settings.speech_device, settings.speech_compute) == (
        "small",
        "auto",
        "auto",
    )
    assert (settings.speech_processes, settings.speech_server) == (None, "")
    assert load(tmp_path, {"BRIDGE_SPEECH_PROCESSES": "Auto"}).speech_processes is None


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ('[speech]\nmodle = "x"', r"“\[speech\] modle” that nothing reads; did you mean model\?"),
        ('speech_model = "a"\n[speech]\nmodel = "b"', "sets both"),
        ("speech = 3", "“speech” that nothing reads"),
        ("[listen]\nport = 3", "listen in bridge.toml is"),
        ("[speech]\nprocesses = -1", r"\[speech\] processes in bridge.toml is “-1” but needs auto"),
    ],
)
def test_a_wrong_table_is_said_clearly(tmp_path, file, sentence):
    with pytest.raises(SettingsError, match=sentence):
        load(tmp_path, file=file)


def worker(tmp_path: Path, **environ: str) -> WorkerSettings:
    return WorkerSettings.load({"BRIDGE_WORKER_DATA_DIR": str(tmp_path), **environ})


def test_a_worker_has_its_own_names_and_shares_those_of_speech(tmp_path):
    (tmp_path / "worker.toml").write_text('[speech]\nmodel = "base"\n')
    settings = worker(
        tmp_path,
        BRIDGE_WORKER_URL="https://bridge:13381/",
        BRIDGE_WORKER_HOURS="22:00-07:00",
        BRIDGE_WORKER_FINGERPRINT="SHA256:" + ":".join(["AB"] * 32),
        BRIDGE_SPEECH_DEVICE="cuda",
        BRIDGE_REFUSED_RETRY_SECONDS="7",
    )
    assert (settings.url, str(settings.hours)) == ("https://bridge:13381", "22:00–07:00")
    assert settings.fingerprint == "ab" * 32
    assert (settings.speech_model, settings.speech_device) == ("base", "cuda")
    assert settings.refused_retry_seconds == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [("FINGERPRINT", "ab"), ("FINGERPRINT", "x" * 64), ("HOURS", "late"), ("URL", "bridge")],
)
def test_a_worker_s_wrong_value_names_its_setting(tmp_path, name, value):
    with pytest.raises(SettingsError, match=f"BRIDGE_WORKER_{name} is “{value}” but needs"):
        worker(tmp_path, **{f"BRIDGE_WORKER_{name}": value})
