"""The page's own statements."""

from bridge_agent.store import Queries

sql = Queries("bridge_agent.page", "page.sql")
