// Loads what isn't needed to see the page once it is painted: htmx, and what a home screen needs. Without it (or when the
// line breaks): links and forms load whole pages.
const vendored = new URL("vendor/htmx.js", document.currentScript.src);
new PerformanceObserver(async (_, observer) => {
  observer.disconnect();
  await import(vendored).catch(() => {});
  document.head.append(Object.assign(document.createElement("link"), { rel: "manifest", href: "/portal.webmanifest" }));
}).observe({ type: "paint", buffered: true });
