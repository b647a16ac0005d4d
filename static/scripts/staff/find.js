// Find: Ctrl K goes to the box, arrows to the hits, Escape back to where one was, Enter opens the first: at once when the hits are for what is typed,
// else as soon as these come. Without it: Enter leads to a page of hits.
import { $ } from "../dom.js";

const find = $("#find");
if (find) {
  const sought = () => find.value.trim().replace(/\s+/g, " ");
  const first = () => ($("#found")?.dataset.for === sought() ? $("#found .hit-main") : null);
  let opening;
  let before;
  // Of two of the same name none is opened unseen. It is done once: another part that is swapped in later moves nothing.
  const open = () => {
    const hit = first();
    if (hit) (opening = null), hit[$("#found[data-ambiguous]") ? "focus" : "click"]();
    return hit;
  };
  find.addEventListener("focus", ({ relatedTarget }) => relatedTarget?.closest("#found") || (before = relatedTarget));
  find.form.addEventListener("submit", (event) => {
    opening = sought();
    if (open()) event.preventDefault(), event.stopImmediatePropagation();
  }, true);
  find.addEventListener("input", () => (opening = null));
  document.addEventListener("htmx:after:swap", () => opening && opening === sought() && open());
  document.addEventListener("keydown", (event) => {
    const { key, code, target } = event;
    if ((event.ctrlKey || event.metaKey) && (key === "k" || code === "KeyK")) event.preventDefault(), find.focus(), find.select();
    if (!target.closest(".find, #found")) return;
    const stops = [find, ...document.querySelectorAll("#found .hit-main")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step) event.preventDefault(), stops[Math.max(0, stops.indexOf(target) + step)]?.focus();
    else if (key === "Escape") (before?.isConnected ? before : document.getElementById("main")).focus();
  });
}
