/* Keeps the marked regions of a page as the server would render them now: the server's events say when to look. */
"use strict";
(() => {
  const script = document.currentScript;
  const wanted = script.dataset.on.split(" ");
  const lost = document.getElementById("lost");
  const PAUSE_MS = 700;
  let timer = 0;
  let busy = false;
  let again = false;

  function sameKind(a, b) {
    return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  }

  function takeAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      // Whether something is folded open is the reader's, not the server's.
      if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  /* Makes `old` like `fresh`, touching only what differs, so that focus, selection and folds stay. */
  function become(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old.dataset.keep && old.dataset.keep === fresh.dataset.keep) return;
    takeAttributes(old, fresh);
    let at = old.firstChild;
    for (const want of [...fresh.childNodes]) {
      const known = want.id && [...old.children].find((child) => child.id === want.id);
      if (known && known !== at) old.insertBefore(known, at);
      else if (at && sameKind(at, want)) at = at.nextSibling;
      else {
        old.insertBefore(document.importNode(want, true), at);
        continue;
      }
      become(known || (at ? at.previousSibling : old.lastChild), want);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  async function look() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store", redirect: "manual" });
      if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) {
        location.reload();
        return;
      }
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const focused = document.activeElement;
      for (const region of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(region.id);
        if (!fresh) continue;
        window.homeTellTimes(fresh);
        for (const button of fresh.querySelectorAll("[data-copy]")) button.hidden = false;
        become(region, fresh);
      }
      // A region that has come or gone changes what the page is: load it whole, unless somebody is typing.
      const ids = (where) => [...where.querySelectorAll("[data-live]")].map((region) => region.id).join();
      const typing = document.activeElement && document.activeElement.matches("input, textarea, select");
      if (ids(document) !== ids(page) && !typing) location.reload();
      else if (focused && !focused.isConnected) document.getElementById("main").focus();
    } catch {
      // The stream tells of a lost server; the next event tries again.
    } finally {
      busy = false;
      if (again) {
        again = false;
        soon();
      }
    }
  }

  function soon() {
    if (document.hidden) {
      again = true;
      return;
    }
    if (!timer) timer = setTimeout(() => { timer = 0; look(); }, PAUSE_MS);
  }

  const stream = new EventSource(script.dataset.events);
  let wasLost = false;
  stream.addEventListener("open", () => {
    lost.textContent = "";
    if (wasLost) soon();
    wasLost = false;
  });
  stream.addEventListener("error", () => {
    wasLost = true;
    const over = stream.readyState === EventSource.CLOSED;
    lost.textContent = over ? "Live updates have ended; load the page again." : "Live updates have stopped; trying again…";
  });
  for (const name of wanted) stream.addEventListener(name, soon);
  document.addEventListener("home:over", soon);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && again) {
      again = false;
      soon();
    }
  });
  window.addEventListener("pagehide", () => stream.close());
})();
