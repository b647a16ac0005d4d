// Loads what isn't needed to see the page once someone begins to use it, or at once where a part of it fetches itself: htmx,
// and what a home screen needs. Without it (or when the line breaks): links and forms load whole pages.
const vendored = new URL("vendor/htmx.js", document.currentScript.src);
const signs = ["pointermove", "pointerdown", "keydown", "focusin", "scroll", "portal:look"];
// htmx begins a turn later. It hasn't heard the look that loaded it, nor what was typed into a search, or pressed to reach Find's.
// Nothing else is repeated: what is typed into a form may have been sent meanwhile.
const begin = (sign) => {
  document.head.append(Object.assign(document.createElement("link"), { rel: "manifest", href: "/portal.webmanifest" }));
  if (sign?.type === "portal:look") document.dispatchEvent(new Event(sign.type));
  const at = document.activeElement;
  const isSought = at?.matches("[type=search]") && (at.id === "find" || at.value !== at.defaultValue);
  if (isSought) at.dispatchEvent(new Event("input", { bubbles: true }));
};
const load = async (sign) => {
  for (const name of signs) document.removeEventListener(name, load, true);
  await import(vendored).catch(() => {});
  setTimeout(begin, 0, sign);
};
new PerformanceObserver((_, observer) => {
  observer.disconnect();
  if (document.querySelector("[hx-trigger^=load]:not(#bell)")) return load();
  for (const name of signs) document.addEventListener(name, load, { capture: true, passive: true });
}).observe({ type: "paint", buffered: true });
