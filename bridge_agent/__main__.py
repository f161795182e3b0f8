"""The program's entry: services without options start at once, the rest goes through the command line."""

import sys
from collections.abc import Callable

from bridge_agent.base.errors import BridgeError, ExitCode


def main() -> None:
    """Run what was asked for; every error a person can meet is one sentence and an exit code."""
    try:
        sys.exit(int(_chosen(sys.argv[1:])()))
    except BridgeError as error:
        print(f"bridge-agent: {error.message}", file=sys.stderr)
        sys.exit(int(error.exit_code))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(int(ExitCode.FAILED))


def _chosen(words: list[str]) -> Callable[[], int]:
    """Return what to call; the parser of command lines stays out of a resting Bridge's memory."""
    if words in (["run"], ["home-server"], ["demo"]):
        from bridge_agent.app import commands

        services = {
            "run": lambda: commands.run_bridge(None, None),
            "home-server": lambda: commands.run_home_server(None, None),
            "demo": commands.run_demo,
        }
        return services[words[0]]
    from bridge_agent.cli import run_command_line

    return run_command_line


if __name__ == "__main__":
    main()
