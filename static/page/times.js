/* Tells times as they are now, in the reader's own zone; the words are those of the page's server side. */
"use strict";
(() => {
  const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"]];

  function span(seconds) {
    for (const [size, unit] of UNITS) {
      if (seconds >= size) return several(Math.floor(seconds / size), unit);
    }
    return several(Math.max(1, Math.floor(seconds)), "second");
  }

  function several(count, unit) {
    return `${count} ${unit}${count > 1 ? "s" : ""}`;
  }

  function calm(seconds) {
    // A line that counts every second draws the eye; steps of five tell as much.
    return seconds < 60 ? Math.floor(seconds / 5) * 5 : seconds;
  }

  function clock(moment) {
    const time = moment.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    const now = new Date();
    if (moment.toDateString() === now.toDateString()) return time;
    const year = moment.getFullYear() === now.getFullYear() ? undefined : "numeric";
    return `${moment.toLocaleDateString("en-GB", { day: "numeric", month: "long", year })}, ${time}`;
  }

  function words(element, now) {
    const moment = new Date(element.dateTime);
    const passed = (now - moment) / 1000;
    if ("at" in element.dataset) return clock(moment);
    if ("span" in element.dataset) return span(passed);
    if ("ago" in element.dataset) return passed < 5 ? "just now" : `${span(calm(passed))} ago`;
    if ("in" in element.dataset) return passed > -1 ? "any moment now" : `in ${span(-passed)}`;
    return element.textContent;
  }

  window.tellTimes = (where, now = new Date()) => {
    for (const element of where.querySelectorAll("time[datetime]")) {
      const told = words(element, now);
      if (element.textContent !== told) element.textContent = told;
      if (!element.title) element.title = new Date(element.dateTime).toLocaleString("en-GB");
    }
  };
  window.tellTimes(document);
  setInterval(() => { if (!document.hidden) window.tellTimes(document); }, 1000);
})();
