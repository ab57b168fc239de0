// Keeps ages and countdowns moving. Without it they stand as they were when the page was made.
"use strict";

(() => {
  // The server's clock decides: a browser whose clock is wrong shows the same ages.
  const offset = Date.parse(document.body.dataset.now) - Date.now();

  const lasting = (ms, units = 2) => {
    let s = Math.floor(Math.abs(ms) / 1000);
    if (s < 60) return `${s} s`;
    const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].map(([size, unit]) => {
      const count = Math.floor(s / size);
      s -= count * size;
      return [count, unit];
    });
    const first = parts.findIndex(([count]) => count);
    const many = first === 2 && parts[2][0] >= 10 ? 1 : units;
    return parts.slice(first, first + many).filter(([count]) => count).map((part) => part.join(" ")).join(" ");
  };

  const show = () => {
    const now = Date.now() + offset;
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const passed = now - Date.parse(time.dateTime);
      const text = passed < 0 ? `in ${lasting(passed)}` : passed < 5000 ? "just now" : `${lasting(passed, 1)} ago`;
      const rel = time.querySelector(".rel");
      if (rel && rel.textContent !== text) rel.textContent = text;
    }
    for (const time of document.querySelectorAll("time[data-until]")) {
      const left = Date.parse(time.dateTime) - now;
      const text = left > 0 ? `in ${lasting(left)}` : `overdue by ${lasting(left)}`;
      time.classList.toggle("overdue", left <= 0);
      const rel = time.querySelector(".rel");
      if (rel && rel.textContent !== text) rel.textContent = text;
    }
  };

  setInterval(show, 1000);
  document.body.addEventListener("htmx:after:swap", show);
})();
