/* Keeps a page as the Bridge would show it now, sends its forms without leaving it, and says when it has
   lost the Bridge. All of it works without this script as well; then a page is as old as its loading. */
"use strict";
(() => {
  const root = document.currentScript.dataset.root;
  const stale = document.getElementById("stale");
  const PAUSE_MS = 600;
  const SILENCE_MS = 45000;
  const AGAIN_MS = 3000;

  /* ---- looking anew ---- */

  let seenAt = Date.now();
  let timer = 0;
  let looking = false;
  let wanted = false;
  let trouble = document.querySelector(".trouble[role=alert]") !== null;

  /* Reads a page; one that comes from another folder gets links that hold where it is shown. */
  function read(text, from) {
    const page = new DOMParser().parseFromString(text, "text/html");
    if (new URL(".", from).href !== new URL(".", location.href).href) {
      for (const name of ["href", "src", "action"]) {
        for (const element of page.querySelectorAll(`[${name}]`)) {
          element.setAttribute(name, new URL(element.getAttribute(name), from).href);
        }
      }
    }
    return page;
  }

  function ready(where) {
    for (const button of where.querySelectorAll("[data-copy]")) button.hidden = false;
    window.tellTimes(where);
  }

  function show(page) {
    const focused = document.activeElement;
    for (const selector of ["#page", "footer.foot"]) {
      const old = document.querySelector(selector);
      const fresh = page.querySelector(selector);
      if (!old || !fresh) {
        location.reload();
        return;
      }
      ready(fresh);
      window.become(old, fresh);
    }
    if (document.title !== page.title) document.title = page.title;
    if (focused && focused !== document.body && !focused.isConnected) document.getElementById("main").focus();
  }

  /* A page that is read or searched stays as it is: what the Bridge does meanwhile is none of its matter. */
  const live = document.getElementById("page").hasAttribute("data-live");

  async function look() {
    timer = 0;
    if (!live) {
      seenAt = Date.now();
      return;
    }
    if (looking || document.hidden) {
      wanted = true;
      return;
    }
    looking = true;
    wanted = false;
    try {
      const answer = await fetch(location.href, { cache: "no-store", redirect: "manual" });
      if (answer.type === "opaqueredirect" || answer.status === 401) location.reload();
      // What went wrong with a form stays to be read until the form is sent again.
      else if (answer.ok && !trouble) show(read(await answer.text(), answer.url));
      if (answer.ok) seenAt = Date.now();
    } catch {
      // The stream notices as well, says so and comes back by itself.
    } finally {
      looking = false;
      if (wanted) soon();
    }
  }

  function soon() {
    if (!timer) timer = setTimeout(look, PAUSE_MS);
  }

  /* ---- the stream, and what is said without it ---- */

  let stream = null;
  let lostAt = 0;
  let retry = 0;
  let heard = Date.now();

  function lost() {
    if (!lostAt) lostAt = Date.now();
    document.body.classList.add("is-stale");
    const since = new Date(seenAt).toLocaleTimeString("en-GB");
    const words = `This page has lost the Bridge. What stands here is from ${since}; it tries again by itself.`;
    if (stale.textContent !== words) stale.textContent = words;
    stale.hidden = false;
  }

  function found() {
    heard = Date.now();
    if (!lostAt) return;
    lostAt = 0;
    document.body.classList.remove("is-stale");
    stale.hidden = true;
    stale.textContent = "";
    soon();
  }

  function hang() {
    if (stream) stream.close();
    stream = null;
    clearTimeout(retry);
  }

  function listen() {
    hang();
    stream = new EventSource(`${root}/api/events`);
    stream.addEventListener("open", found);
    stream.addEventListener("error", () => {
      lost();
      // A refused stream (the Bridge is starting, the session has ended) is not tried again by the browser.
      if (stream && stream.readyState === EventSource.CLOSED) {
        hang();
        retry = setTimeout(() => { soon(); listen(); }, AGAIN_MS);
      }
    });
    for (const name of ["status", "job", "worker"]) {
      stream.addEventListener(name, () => { found(); soon(); });
    }
  }

  setInterval(() => {
    if (!document.hidden && stream && Date.now() - heard > SILENCE_MS) {
      lost();
      listen();
      heard = Date.now();
    }
  }, 5000);

  document.addEventListener("visibilitychange", () => {
    // A browser has few connections for one host: a page that nobody sees needs none.
    if (document.hidden) hang();
    else {
      heard = Date.now();
      listen();
      soon();
    }
  });
  window.addEventListener("pagehide", hang);
  window.addEventListener("pageshow", (event) => { if (event.persisted) { listen(); soon(); } });

  /* ---- forms ---- */

  async function send(form, button) {
    const words = button ? button.textContent : "";
    const body = new URLSearchParams(new FormData(form));
    if (button) {
      button.disabled = true;
      if (form.dataset.busy) button.textContent = form.dataset.busy;
    }
    try {
      const answer = await fetch(form.action, { method: "POST", body, cache: "no-store" });
      if (answer.redirected && new URL(answer.url).pathname !== location.pathname) {
        location.assign(answer.url);
        return;
      }
      const page = read(await answer.text(), answer.url);
      if (!page.querySelector("#page")) throw new Error("no page");
      const failed = !answer.ok;
      if (button) {
        button.disabled = false;
        button.textContent = words;
      }
      show(page);
      const said = document.getElementById("said");
      said.replaceChildren(...[...page.getElementById("said").childNodes].map((n) => document.importNode(n, true)));
      trouble = failed;
      if (failed) {
        const alert = document.querySelector("#page [role=alert]");
        if (alert) alert.scrollIntoView({ block: "nearest" });
      } else {
        for (const fold of document.querySelectorAll("details.where, details.ask")) fold.open = false;
        soon();
      }
    } catch {
      // Sent the plain way, the browser itself shows what is wrong.
      if (button) {
        button.disabled = false;
        button.textContent = words;
      }
      form.submit();
    }
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!("send" in form.dataset)) return;
    event.preventDefault();
    send(form, event.submitter || form.querySelector("button"));
  });

  /* ---- copying ---- */

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    let done = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      // Without https there is no clipboard for a page; the selected text can be copied by hand.
      const fold = source.closest("details");
      if (fold) fold.open = true;
      getSelection().selectAllChildren(source);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Selected; press Ctrl-C";
    setTimeout(() => { button.textContent = "Copy"; }, 2500);
  });

  document.getElementById("main").tabIndex = -1;
  ready(document);
  if (!document.hidden) listen();
})();
