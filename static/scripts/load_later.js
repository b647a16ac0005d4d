// Loads what isn't needed to see the page once someone begins to use it, or at once where a part of it fetches itself: htmx,
// and what a home screen needs. Without it (or when the line breaks): links and forms load whole pages.
const vendored = new URL("vendor/htmx.js", document.currentScript.src);
const signs = ["pointermove", "pointerdown", "keydown", "focusin", "scroll", "portal:look"];
const load = async () => {
  for (const sign of signs) document.removeEventListener(sign, load, true);
  await import(vendored).catch(() => {});
  document.head.append(Object.assign(document.createElement("link"), { rel: "manifest", href: "/portal.webmanifest" }));
};
new PerformanceObserver((_, observer) => {
  observer.disconnect();
  if (document.querySelector("[hx-trigger^=load]:not(#bell)")) return load();
  for (const sign of signs) document.addEventListener(sign, load, { capture: true, passive: true });
}).observe({ type: "paint", buffered: true });
