"""The commands of `bridge-agent`: what each is called and takes; what it does lives in `app.commands`."""

from pathlib import Path
from typing import Annotated

import typer

from bridge_agent import __version__
from bridge_agent.base.errors import SettingsError

app = typer.Typer(
    name="bridge-agent",
    help="Runs beside your audiobooks and works for your own audiobook server.\n\n"
    "Begin with `bridge-agent run`, open the page it names, and type the code that the server's console "
    "shows under Settings, Bridge. To look at everything with sample books first: `bridge-agent demo`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
token_app = typer.Typer(
    no_args_is_help=True,
    help="Invite workers by tokens, list, pause and revoke them; say where the Bridge's own token is kept.",
)
app.add_typer(token_app, name="token")
service_app = typer.Typer(
    no_args_is_help=True, help="Have the system start the Bridge or a worker by itself."
)
app.add_typer(service_app, name="service")

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", readable=False, help="The data folder; else BRIDGE_DATA_DIR or the platform's own."
    ),
]
HomeDataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        readable=False,
        help="The data folder; else BRIDGE_HOME_DATA_DIR or the platform's own.",
    ),
]
WorkerDataDir = Annotated[
    Path | None,
    # A folder that can't be read is told in the worker's own words, wherever its name came from.
    typer.Option(
        "--data-dir",
        readable=False,
        help="The worker's own data folder; else BRIDGE_WORKER_DATA_DIR or the platform's own.",
    ),
]
Worker = Annotated[str, typer.Argument(metavar="NAME|ID", help="Its name or id, as `token list` shows them.")]
Listen = Annotated[str | None, typer.Option(help="Where to listen, as HOST:PORT.")]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object, for scripts.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take what stands before every command."""


@app.command()
def run(listen: Listen = None, data_dir: DataDir = None) -> None:
    """Run the Bridge: its page listens at http://127.0.0.1:13380 unless BRIDGE_LISTEN says otherwise.

    In Docker, BRIDGE_SERVER_URL and BRIDGE_PAIR_CODE pair it at its first start. Ctrl-C stops it in order;
    what it was doing goes on at the next start.
    """
    from bridge_agent.app import commands

    raise typer.Exit(commands.run_bridge(listen, data_dir))


@app.command("home-server")
def home_server(listen: Listen = None, data_dir: HomeDataDir = None) -> None:
    """Run the home server; its console is at http://127.0.0.1:13390 unless BRIDGE_HOME_LISTEN says otherwise.

    BRIDGE_HOME_LIBRARIES="Books=/srv/books" adds libraries at the first start, BRIDGE_HOME_ADMIN_PASSWORD
    sets the first admin's password; without it one is made and printed here once.
    """
    from bridge_agent.app import commands

    raise typer.Exit(commands.run_home_server(listen, data_dir))


@app.command()
def demo() -> None:
    """Run a home server and a Bridge with two sample books, already paired, and verify one of them.

    Everything lies in a folder of its own (`bridge-agent paths` names it); the next start goes on from there.
    """
    from bridge_agent.app import commands

    raise typer.Exit(commands.run_demo())


@app.command(context_settings={"allow_extra_args": True})
def worker(
    context: typer.Context,
    url: Annotated[
        str | None, typer.Option(help="The Bridge's worker listener; else BRIDGE_WORKER_URL.")
    ] = None,
    fingerprint: Annotated[
        str | None, typer.Option(help="Its certificate's SHA-256; else BRIDGE_WORKER_FINGERPRINT.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What this worker calls itself.")] = None,
    hours: Annotated[
        str | None, typer.Option(help="When it works, like 22:00-07:00 in local time; else always.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Transcribe one part, then end.")] = False,
    idle_exit: Annotated[bool, typer.Option("--idle-exit", help="End when there is no more work.")] = False,
    data_dir: WorkerDataDir = None,
    token: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Transcribe parts of books for a Bridge on another machine, as “Add a worker” on its page invites.

    The token is asked for, or comes by BRIDGE_WORKER_TOKEN or BRIDGE_WORKER_TOKEN_FILE, never as an argument.
    Ctrl-C ends it after the parts in hand; a second one gives them back at once.
    """
    from bridge_agent.app import commands

    if token is not None or context.args:
        # Both are taken only so that no message of the parser's repeats a token.
        raise SettingsError(
            "A worker takes no word beside its options, and never its token as one, where others can read "
            "it; type the token in when you are asked for it, or set BRIDGE_WORKER_TOKEN or "
            "BRIDGE_WORKER_TOKEN_FILE."
        )
    given = {"url": url, "fingerprint": fingerprint, "name": name, "hours": hours}
    raise typer.Exit(commands.run_worker(given, once, idle_exit, data_dir))


@app.command()
def pair(
    server_url: Annotated[
        str, typer.Argument(metavar="URL", help="The server's address, http:// or https://.")
    ],
    code: Annotated[
        str | None, typer.Argument(metavar="[CODE]", help="The code; asked for when left out.")
    ] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Pair the running Bridge with a server, with a code from the console under Settings, Bridge."""
    from bridge_agent.app import commands

    raise typer.Exit(commands.pair(server_url, code, data_dir, as_json))


@app.command()
def unpair(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Make the running Bridge forget its token; unpair it in the server's console too."""
    from bridge_agent.app import commands

    raise typer.Exit(commands.unpair(data_dir, as_json))


@app.command()
def status(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Say how the running Bridge is: its link, its libraries, what it is doing."""
    from bridge_agent.app import commands

    raise typer.Exit(commands.status(data_dir, as_json))


@app.command()
def doctor(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Look for what keeps a Bridge from working: names, TLS, clock, mounts, keyring, port, disk, versions.

    Each finding has a code that stays the same and says what to do. Exits with 1 when something is bad.
    """
    from bridge_agent.app import commands

    raise typer.Exit(commands.doctor(data_dir, as_json))


@app.command()
def paths(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Say where everything lies: settings, data, secrets, logs."""
    from bridge_agent.app import commands

    raise typer.Exit(commands.paths(data_dir, as_json))


@app.command()
def password(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Set the password of the Bridge's page: asked for twice, or one line from standard input."""
    from bridge_agent.app import commands

    raise typer.Exit(commands.password(data_dir, as_json))


@app.command()
def transcribe(
    path: Annotated[
        Path, typer.Argument(metavar="FILE|FOLDER", help="An audio file, or a folder that is one book.")
    ],
    language: Annotated[
        str | None, typer.Option(help="Its language in two letters; found out when left out.")
    ] = None,
    quality: Annotated[str, typer.Option(help="balanced, or accurate: slower.")] = "balanced",
    model: Annotated[
        str | None, typer.Option(help="A model's name or folder; else BRIDGE_SPEECH_MODEL.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="A folder for copies of the files, named after the book.")
    ] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Transcribe a book without a server; what was broken off goes on where it was.

    The book stays as it is. The transcript is kept with the others, as text, subtitles and JSON, and is found
    by `bridge-agent search`; beside a running Bridge it appears on its page.
    """
    from bridge_agent.app import commands_speech

    raise typer.Exit(
        commands_speech.transcribe(
            path,
            data_dir,
            language=language,
            quality=quality,
            model=model,
            output=output,
            as_json=as_json,
        )
    )


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="Words, a “phrase”, or a beginning*.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many places at most.")] = 20,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Search what was said in all transcripts: each place with its book, chapter, time and text."""
    from bridge_agent.app import commands_speech

    raise typer.Exit(commands_speech.search(words, data_dir, limit=limit, as_json=as_json))


@service_app.command("install")
def service_install(
    worker: Annotated[
        bool, typer.Option("--worker", help="A worker instead, with the settings in its worker.toml.")
    ] = False,
    show: Annotated[bool, typer.Option("--print", help="Say what it would do, and do nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Start the Bridge now and at each log-on, as you: by systemd, launchd or the task scheduler.

    A worker reads its url, fingerprint and token from its worker.toml, which `bridge-agent paths` names.
    """
    from bridge_agent.app import commands

    raise typer.Exit(commands.service_install(show, as_json, worker=worker))


@token_app.command("where")
def token_where(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Say where the token is kept and how strong that is."""
    from bridge_agent.app import commands

    raise typer.Exit(commands.token_where(data_dir, as_json))


@token_app.command("add")
def token_add(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What the worker is called wherever it is seen.")
    ],
    model: Annotated[
        str | None, typer.Option(help="The model it hears with; else the one of this Bridge.")
    ] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Invite a worker: print its token, this once, and the line that makes a machine join.

    The first one makes the running Bridge listen for workers at BRIDGE_WORKER_LISTEN.
    """
    from bridge_agent.app import commands_workers

    raise typer.Exit(commands_workers.add(name, model, data_dir, as_json))


@token_app.command("list")
def token_list(data_dir: DataDir = None, as_json: Json = False) -> None:
    """List the workers that were invited; their tokens are never shown again."""
    from bridge_agent.app import commands_workers

    raise typer.Exit(commands_workers.list_(data_dir, as_json))


@token_app.command("pause")
def token_pause(worker: Worker, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Give a worker no more parts until it is resumed; what it has it finishes."""
    from bridge_agent.app import commands_workers

    raise typer.Exit(commands_workers.pause(worker, data_dir, as_json))


@token_app.command("resume")
def token_resume(worker: Worker, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Give a worker parts again that was paused, or parked after failures."""
    from bridge_agent.app import commands_workers

    raise typer.Exit(commands_workers.resume(worker, data_dir, as_json))


@token_app.command("revoke")
def token_revoke(
    worker: Worker,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Refuse a worker from its next call on; what it has goes to others."""
    from bridge_agent.app import commands_workers

    raise typer.Exit(commands_workers.revoke(worker, data_dir, as_json))


def run_command_line() -> int:
    """Parse the command line and run its command; raises BridgeError, exits by itself on wrong usage."""
    app()
    return 0
