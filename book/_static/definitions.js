/* Shows what a word means while the pointer or the focus is on it, or on what is shown; Escape hides it. */
(() => {
  let shown = null;
  const hide = () => { if (shown) shown.hidden = true; shown = null; };
  const show = (link) => {
    hide();
    shown = document.getElementById(link.getAttribute("aria-describedby"));
    shown.hidden = false;
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
      const link = defined(event);
      if (link) show(link);
      else if (!event.target.closest?.(".definition")) hide();
    });
  }
  addEventListener("focusout", (event) => { if (defined(event)) hide(); });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });
})();
