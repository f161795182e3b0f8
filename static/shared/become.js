/* Makes one tree like another, touching only what differs: focus, selection, folds and what is being typed stay. */
"use strict";
(() => {
  function alike(a, b) {
    return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  }

  /* Whether something is folded open is the reader's affair; the title of a time is a script's. */
  function kept(name, element) {
    return (name === "open" && element.nodeName === "DETAILS") || (name === "title" && element.nodeName === "TIME");
  }

  function takeAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && !kept(name, old)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  window.become = function become(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    // What is marked stays as it is while its mark is the same.
    if (old.dataset.keep && old.dataset.keep === fresh.dataset.keep) return;
    takeAttributes(old, fresh);
    let at = old.firstChild;
    for (const want of [...fresh.childNodes]) {
      const known = want.id ? [...old.children].find((child) => child.id === want.id) : null;
      if (known) {
        if (known === at) at = at.nextSibling;
        else old.insertBefore(known, at);
        become(known, want);
      } else if (at && alike(at, want)) {
        const next = at.nextSibling;
        become(at, want);
        at = next;
      } else {
        old.insertBefore(document.importNode(want, true), at);
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  };
})();
