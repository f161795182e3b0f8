"""The key under which an application carries its HomeServer."""

from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from bridge_agent.home.app import HomeServer

HOME: "web.AppKey[HomeServer]" = web.AppKey("home")
