"""`python -m bridge_agent`: the command line without its script."""

from bridge_agent.cli import main

main()
