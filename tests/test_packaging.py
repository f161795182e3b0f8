"""What is in packaging fits the code: extras, ports, folders, and the lines that a person pastes."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from bridge_agent.page import joining
from bridge_agent.settings import BridgeSettings

TOP = Path(__file__).parent.parent
DOCKER = TOP / "packaging" / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
EXTRAS = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
PORTS = (str(BridgeSettings.listen.port), str(BridgeSettings.worker_listen.port))


def docker_words() -> list[str]:
    invited = joining.Invited("gpu", "wrk_x", "https://10.0.0.5:13381", "ab" * 32)
    (way,) = (way for way in joining.own(invited) if way.id == "docker")
    return shlex.split(way.text)


def test_the_image_of_a_worker_s_line_is_one_that_the_dockerfile_says_how_to_build():
    image = docker_words()[-2]
    extra = image.partition(":")[2]
    assert extra in EXTRAS
    assert f"--build-arg 'EXTRAS=[{extra}]' -t {image}" in DOCKERFILE


def test_an_image_that_is_given_gpus_has_what_the_engine_loads_for_them():
    words = docker_words()
    assert words[words.index("--gpus") + 1] == "all"
    wanted = " ".join(EXTRAS[words[-2].partition(":")[2]])
    searched = re.search(r"LD_LIBRARY_PATH=(\S+)", DOCKERFILE)
    assert searched is not None
    for library in ("cublas", "cudnn"):
        assert f"nvidia-{library}-cu12" in wanted
        assert re.search(rf"site-packages/nvidia/{library}/lib(:|$)", searched[1])
    python = re.search(r"^FROM python:([\d.]+)-slim$", DOCKERFILE, re.MULTILINE)
    assert python is not None
    assert set(re.findall(r"python([\d.]+)/site-packages", searched[1])) == {python[1]}


def test_a_worker_in_docker_is_left_the_time_to_end_its_parts():
    words = docker_words()
    assert int(words[words.index("--stop-timeout") + 1]) >= 300


@pytest.mark.parametrize("port", PORTS)
def test_both_listeners_are_reached_from_outside_a_container(port: str):
    exposed = re.search(r"^EXPOSE (.+)$", DOCKERFILE, re.MULTILINE)
    assert exposed is not None
    assert port in exposed[1].split()
    published = re.search(r"^ +ports: \[(.+)\]$", COMPOSE, re.MULTILINE)
    assert published is not None
    # Workers are told the port that the Bridge itself listens on.
    assert f'"{port}:{port}"' in published[1].split(", ")
