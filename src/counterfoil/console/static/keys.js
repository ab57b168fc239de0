// The keyboard: what parts/shortcut_list.html lists. A key does nothing while somebody types in a field.
"use strict";

(() => {
  const rows = () => [...document.querySelectorAll(".row-link")].filter((link) => link.offsetParent);
  const typing = (place) => place.closest("input, textarea, select, [contenteditable]") !== null;
  let going = false;

  const walk = (step) => {
    const links = rows();
    if (!links.length) return;
    const at = links.findIndex((link) => link.closest("li, tr") === document.activeElement.closest("li, tr"));
    const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1);
    links[next].focus();
    links[next].scrollIntoView({ block: "nearest" });
  };

  const go = (key) => {
    const link = document.querySelector(`.nav [data-key="${CSS.escape(key)}"]`);
    if (link) location.assign(link.href);
  };

  const acts = {
    "?": () => document.getElementById("shortcuts")?.togglePopover(),
    "/": () => { const find = document.getElementById("find"); find?.focus(); find?.select(); },
    j: () => walk(1),
    k: () => walk(-1),
    t: () => document.activeElement.closest("li, tr")?.querySelector("[data-take]")?.click(),
    u: () => document.querySelector("[data-up]")?.click(),
    g: () => { going = true; setTimeout(() => { going = false; }, 1500); },
  };

  document.addEventListener("keydown", (press) => {
    if (press.ctrlKey || press.metaKey || press.altKey || typing(press.target)) return;
    if (going) {
      going = false;
      go(press.key);
      press.preventDefault();
      return;
    }
    const act = acts[press.key];
    if (!act) return;
    press.preventDefault();
    act();
  });

  // A copied digest is the whole digest.
  document.addEventListener("copy", (copying) => {
    const inside = getSelection().anchorNode?.parentElement?.closest(".digest");
    if (!inside) return;
    copying.clipboardData.setData("text/plain", inside.title);
    copying.preventDefault();
  });
})();
