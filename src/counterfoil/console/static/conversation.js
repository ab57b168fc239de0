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
      place.querySelector("[data-written]").textContent = said.text;
      place.querySelector("[data-writing]").hidden = false;
    }
  };

  document.body.addEventListener("partial", (told) => {
    const { at, text, gap } = JSON.parse(told.detail);
    const said = written.get(at) ?? { text: "", shown: false };
    said.text += (gap ? "… " : "") + text;
    written.set(at, said);
    show();
  });
  document.body.addEventListener("htmx:after:swap", show);
})();
