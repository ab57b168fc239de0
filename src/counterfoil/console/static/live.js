// Follows the record: a stream of server-sent messages says `changed`, the parts of the page fetch themselves again.
// A lost connection shows itself, is tried again with growing pauses, and the page is brought up to date when it is back.
"use strict";

(() => {
  const url = document.body.dataset.live;
  if (!url) return;
  const banner = document.getElementById("connection");
  let stream = null;
  let pause = 1000;
  let seen = document.body.dataset.now;
  let quiet = 0;
  let hearing = 0;

  const clock = () => new Date().toISOString().slice(0, 19).replace("T", " ") + " UTC";
  const changed = () => document.body.dispatchEvent(new Event("changed"));

  const lost = () => {
    if (!banner.hidden) return;
    banner.querySelector(".lost-since").textContent = seen.slice(0, 19).replace("T", " ").replace(" UTC", "") + " UTC";
    banner.hidden = false;
    document.body.dataset.connection = "lost";
  };

  const silent = () => { stream.close(); lost(); connect(); };

  const found = () => {
    seen = clock();
    clearTimeout(hearing);
    hearing = setTimeout(silent, 40000); // the server speaks every 15 seconds, changed or not
    pause = 1000;
    document.body.dataset.connection = "open";
    if (banner.hidden) return;
    banner.hidden = true;
    changed(); // what was missed meanwhile
  };

  const connect = () => {
    if (stream) stream.close();
    stream = new EventSource(url);
    stream.addEventListener("open", found);
    stream.addEventListener("changed", () => { found(); changed(); });
    stream.addEventListener("alive", found);
    stream.addEventListener("partial", (told) => document.body.dispatchEvent(new CustomEvent("partial", { detail: told.data })));
    stream.addEventListener("error", () => {
      stream.close();
      lost();
      clearTimeout(hearing);
      clearTimeout(quiet);
      quiet = setTimeout(connect, pause);
      pause = Math.min(pause * 2, 15000);
    });
  };

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && document.body.dataset.connection === "lost") { clearTimeout(quiet); connect(); }
  });
  addEventListener("online", () => { clearTimeout(quiet); connect(); });
  addEventListener("pagehide", () => stream && stream.close());
  addEventListener("pageshow", (shown) => { if (shown.persisted) connect(); });
  connect();
})();
