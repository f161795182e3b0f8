"""A real browser for the tests of pages: how it is started, how a page is opened, how axe judges it."""

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Browser, Page, async_playwright, expect

_CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_SIZES = {"wide": (1200, 800), "phone": (390, 800)}


@contextlib.asynccontextmanager
async def chromium_browser() -> AsyncIterator[Browser]:
    """Give a browser."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        yield browser
        await browser.close()


async def open_page(
    browser: Browser,
    url: str,
    path: str = "/",
    *,
    said: list[str] | None = None,
    size: str = "wide",
    scheme: Any = "light",
    script: bool = True,
) -> Page:
    """Open a page; what the browser complains of goes into `said`."""
    width, height = _SIZES[size]
    context = await browser.new_context(
        base_url=url,
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        java_script_enabled=script,
    )
    context.set_default_timeout(15_000)
    page = await context.new_page()
    if said is not None:
        page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
    await page.goto(path)
    return page


@dataclass
class Shown:
    """A served page and a browser to see it with; `said` is what the browser complains of."""

    url: str
    browser: Browser
    said: list[str]

    async def open(
        self, path: str = "/", *, size: str = "wide", scheme: str = "light", script: bool = True
    ) -> Page:
        """Open one of its pages."""
        return await open_page(
            self.browser, self.url, path, said=self.said, size=size, scheme=scheme, script=script
        )


async def shows(page: Page, words: str) -> None:
    """Wait until a page shows these words."""
    await expect(page.get_by_text(words).first).to_be_visible(timeout=15_000)


async def judge(axe: Any, page: Page, name: str) -> None:
    """Let axe find nothing grave on a page, which must not scroll sideways."""
    found = (await axe.run(page)).response["violations"]
    grave = [
        (v["id"], [n["html"] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")
    ]
    assert grave == [], name
    assert not await page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    ), f"{name} scrolls sideways"
