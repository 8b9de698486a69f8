/* Shows what a word means while the pointer or the focus is on it, or on what is shown; Escape hides it. */
(() => {
  let link = null;
  let shown = null;
  const hide = () => { if (shown) shown.hidden = true; shown = null; };
  const place = () => {
    if (!shown) return;
    const word = link.getClientRects()[0];
    const { width, height } = shown.getBoundingClientRect();
    const room = document.documentElement.clientWidth - width - 8;
    const above = word.top - height;
    shown.style.left = `${Math.max(8, Math.min(word.left, room))}px`;
    shown.style.top = `${above > 64 ? above : word.bottom}px`;
  };
  const defined = (event) => event.target.closest?.("a.defined");
  for (const begin of ["pointerover", "focusin"]) {
    addEventListener(begin, (event) => {
      const next = defined(event);
      // A pointer that rests, while the page scrolls below it, does not hide what the focus shows.
      if (event.target.closest?.(".meaning") || (!next && begin === "pointerover" && link === document.activeElement)) return;
      hide();
      link = next;
      shown = link && document.getElementById(link.getAttribute("aria-describedby"));
      if (shown) shown.hidden = false;
      place();
    });
  }
  addEventListener("focusout", hide);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", place, { passive: true });
})();
