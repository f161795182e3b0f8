/* Small helps on every page; all of it works without them. */
"use strict";
(() => {
  const short = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const withDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "medium" });

  function ago(then) {
    const seconds = Math.max(0, Math.floor((Date.now() - then) / 1000));
    if (seconds < 5) return "just now";
    for (const [size, word] of [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]]) {
      const count = Math.floor(seconds / size);
      if (count >= 1) return `${count} ${word}${count === 1 ? "" : "s"} ago`;
    }
    return "just now";
  }

  /* Writes the times below a node in this reader's own zone, and how long ago or how long still. */
  function tellTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      if ("ago" in time.dataset) time.textContent = ago(moment.getTime());
      else if ("at" in time.dataset) {
        const today = moment.toDateString() === new Date().toDateString();
        time.textContent = today ? `today ${short.format(moment)}` : withDay.format(moment);
      } else if ("until" in time.dataset) {
        const left = Math.max(0, Math.floor((moment.getTime() - Date.now()) / 1000));
        time.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
        if (left === 0 && !time.dataset.over) {
          time.dataset.over = "yes";
          document.dispatchEvent(new Event("home:over"));
        }
        continue;
      }
      time.title = full.format(moment);
    }
  }

  async function copy(text) {
    if (navigator.clipboard && window.isSecureContext) {
      await navigator.clipboard.writeText(text);
      return;
    }
    // On plain http at home there is no clipboard interface; a selected field does it.
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "unseen";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error("copying was refused");
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    const source = button && document.getElementById(button.dataset.copy);
    if (!source) return;
    const label = button.dataset.label || (button.dataset.label = button.textContent);
    try {
      await copy(source.textContent.trim());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it and copy by hand";
      window.getSelection().selectAllChildren(source);
    }
    button.focus();
    setTimeout(() => { button.textContent = label; }, 2500);
  });

  document.addEventListener("submit", (event) => {
    // A second press while the first is on its way would only send the form twice.
    setTimeout(() => { for (const button of event.target.querySelectorAll("button")) button.disabled = true; });
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.pick");
    if (form) form.requestSubmit();
  });

  // What was said once is not said again when the page is loaded anew.
  const address = new URL(location.href);
  if (address.searchParams.has("said") || address.searchParams.has("once")) {
    address.searchParams.delete("said");
    address.searchParams.delete("once");
    history.replaceState(null, "", address);
  }

  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  tellTimes(document);
  setInterval(() => tellTimes(document), 1000);
  window.homeTellTimes = tellTimes;
})();
