/* Keeps the marked regions of a page as the server would render them now: the server's events say when to look. */
"use strict";
(() => {
  const script = document.currentScript;
  const wanted = [...script.dataset.on.split(" "), "look"];
  const lost = document.getElementById("lost");
  const PAUSE_MS = 700;
  const AGAIN_MS = 4000;
  let stream = null;
  let timer = 0;
  let busy = false;
  let missed = false;

  function typing() {
    return document.activeElement !== null && document.activeElement.matches("input, textarea, select");
  }

  function put(page) {
    const focused = document.activeElement;
    // A server that was started anew takes none of the old forms' tokens.
    const token = page.querySelector("input[name=csrf]");
    if (token) for (const old of document.querySelectorAll("input[name=csrf]")) old.value = token.value;
    for (const region of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(region.id);
      if (!fresh) continue;
      window.homeTellTimes(fresh);
      for (const button of fresh.querySelectorAll("[data-copy]")) button.hidden = false;
      window.become(region, fresh);
    }
    // Whole regions that came or went make it another page: load that, unless somebody is typing.
    const ids = (where) => [...where.querySelectorAll("[data-live]")].map((region) => region.id).sort().join();
    if (ids(document) !== ids(page)) {
      if (!typing()) location.reload();
    } else if (focused && !focused.isConnected) {
      const main = document.getElementById("main");
      main.tabIndex = -1;
      main.focus({ preventScroll: true });
    }
  }

  async function look() {
    if (busy) {
      missed = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store", redirect: "manual" });
      if (answer.type === "opaqueredirect" || answer.status === 403 || answer.status === 404) location.reload();
      else if (answer.ok) put(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      // The stream tells of a server that is away; once it is back, the page looks again.
    } finally {
      busy = false;
      if (missed) soon();
      missed = false;
    }
  }

  function soon() {
    if (!timer) timer = setTimeout(() => { timer = 0; look(); }, PAUSE_MS);
  }

  function follow() {
    stream = new EventSource(script.dataset.events);
    stream.addEventListener("open", () => { lost.textContent = ""; });
    stream.addEventListener("error", () => {
      lost.textContent = "Live updates have stopped; trying again…";
      if (stream.readyState === EventSource.CLOSED) {
        // The browser itself gives up after an answer that is no stream, as a restarting proxy gives it.
        setTimeout(() => { if (!document.hidden) { leave(); follow(); } }, AGAIN_MS);
      }
    });
    // The first event of a stream asks to look, since something may have happened while none was open.
    for (const name of wanted) stream.addEventListener(name, soon);
  }

  function leave() {
    if (stream) stream.close();
    stream = null;
  }

  document.addEventListener("home:over", soon);
  // A page that nobody sees holds no connection: a browser has only six for a server.
  document.addEventListener("visibilitychange", () => {
    leave();
    if (!document.hidden) follow();
  });
  window.addEventListener("pagehide", leave);
  if (!document.hidden) follow();
})();
