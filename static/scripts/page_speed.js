// Tells the clinic, when this page is left, how fast it was: the kind of page and three figures, nothing of whose it is. Only
// where the clinic asks for it. Without it: nothing is told.
const { dataset, src } = document.currentScript;
const figures = new URLSearchParams({ page: dataset.page });
const note = ({ name, value }) => figures.set(name.toLowerCase(), value.toFixed(4));
const tell = () => {
  if (!document.hidden) return;
  removeEventListener("visibilitychange", tell);
  if (figures.has("lcp") || figures.has("cls")) navigator.sendBeacon("/page-speed", figures);
};
import(new URL("vendor/web-vitals.js", src)).then(({ onCLS, onINP, onLCP }) => {
  for (const watch of [onLCP, onINP, onCLS]) watch(note);
  addEventListener("visibilitychange", tell);
}, () => {});
