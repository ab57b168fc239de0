// What a model is writing now is put under its question: provisional text, which goes as soon as the record says how it ended.
"use strict";

(() => {
  const written = new Map();

  const show = () => {
    for (const [id, said] of written) {
      const place = document.getElementById(id);
      if (!place) {
        if (said.shown) written.delete(id);
        continue;
      }
      said.shown = true;
      place.querySelector("[data-written]").textContent = (said.start ? "… " : "") + said.text;
      place.querySelector("[data-writing]").hidden = false;
    }
  };

  document.body.addEventListener("partial", (told) => {
    const { at, text, offset } = JSON.parse(told.detail);
    let said = written.get(at);
    if (!said || offset < said.start || offset > said.start + said.text.length) {
      said = { start: offset, text: "", shown: false };
    }
    said.text = said.text.slice(0, offset - said.start) + text; // told again after a reconnect, it is not doubled
    written.set(at, said);
    show();
  });
  document.body.addEventListener("htmx:after:swap", show);
})();
