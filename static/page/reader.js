/* Eases reading: which chapter is on screen, and from one place that was found to the next with Enter.
   All of it is there without this script too: the places are links, each to the one after it. */
"use strict";
(() => {
  const field = document.getElementById("find");
  const places = [...document.querySelectorAll(".hit")];
  const which = document.getElementById("which");
  const next = document.getElementById("next");
  const entries = new Map([...document.querySelectorAll(".toc > a")].map((a) => [a.dataset.chapter, a]));
  const total = which ? which.textContent.trim() : "";
  let at = -1;

  /* ---- the places ---- */

  function go(to, focus) {
    if (at >= 0) places[at].classList.remove("is-here");
    at = to;
    const place = places[at];
    place.classList.add("is-here");
    place.scrollIntoView({ block: "center" });
    if (focus) place.focus({ preventScroll: true });
    which.textContent = `${place.id.slice(4)} of ${total}`;
    next.textContent = places.length > 1 || leadsAway(place) ? "Next" : "Show it";
    history.replaceState(null, "", `#${place.id}`);
  }

  /* Whether what a place leads to stands on another page. */
  function leadsAway(place) {
    return !place.getAttribute("href").startsWith("#") && !document.getElementById(place.hash.slice(1));
  }

  function step(by, focus) {
    if (by > 0 && at === places.length - 1 && at >= 0 && leadsAway(places[at])) {
      location.assign(places[at].href);
      return;
    }
    go((at + by + places.length) % places.length, focus);
  }

  if (places.length) {
    document.getElementById("seek").addEventListener("submit", (event) => {
      if (field.value.trim() !== field.defaultValue.trim()) return;
      event.preventDefault();
      step(1, false);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !event.shiftKey) return;
      event.preventDefault();
      step(-1, false);
    });
    next.addEventListener("click", (event) => {
      if (!document.getElementById(next.hash.slice(1))) return;
      event.preventDefault();
      step(1, false);
    });
    for (const [number, place] of places.entries()) {
      place.addEventListener("click", (event) => {
        event.preventDefault();
        at = number;
        for (const other of places) other.classList.remove("is-here");
        step(1, true);
      });
    }
    // A hit of the search across all books leads to its paragraph; the place is within it.
    const wanted = places.findIndex(
      (place) => (location.hash === "#here" ? place.closest(".here") : `#${place.id}` === location.hash));
    if (wanted >= 0) go(wanted, false);
    document.getElementById("count").append(" · Enter for the next");
  }

  /* ---- the chapter on screen ---- */

  const chapters = [...document.querySelectorAll(".chapter")];
  let told = null;

  function tell() {
    const line = innerHeight / 3;
    let current = chapters[0];
    for (const chapter of chapters) {
      if (chapter.getBoundingClientRect().top > line) break;
      current = chapter;
    }
    if (!current || current === told) return;
    told = current;
    const number = current.id.slice("chapter-".length);
    for (const [key, entry] of entries) {
      if (key === number) entry.setAttribute("aria-current", "true");
      else entry.removeAttribute("aria-current");
    }
    const list = document.querySelector(".toc");
    const entry = entries.get(number);
    // Only the list itself moves, never the page.
    if (entry.offsetTop < list.scrollTop || entry.offsetTop + entry.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = entry.offsetTop - list.clientHeight / 2;
    }
  }

  let waiting = false;
  if (chapters.length > 1) {
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; tell(); });
    }, { passive: true });
    tell();
  }
})();
