// The theme, before anything is drawn: as the system has it, unless this browser was told otherwise here.
(() => {
  "use strict";
  try {
    const theme = localStorage.getItem("greeksd.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // a browser that keeps nothing: the system's theme
  }
})();
