// An error summary takes the focus, on a new page and after a swap. Without it: it stands at the top of the page.
//
// A swap that takes away what had the focus gives it to its like in the new region (the only one of the same address or the same
// place, in the same row), else to the region's heading, or the region. In a region that renewed itself, its like says the same, and
// what was unfolded stays so.
import { focusOn } from "./focus_on.js";
import { $, body, onSwap } from "./dom.js";

const summary = $("#main [data-focus]");
if (summary) focusOn(summary);

// What stood there is kept with its request: several regions may be swapped at once.
document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  const { sourceElement, target } = ctx;
  const at = document.activeElement;
  const renewed = sourceElement === target;
  const focused = at !== body && (sourceElement?.contains(at) || target?.contains?.(at)) && at;
  ctx.stood = { renewed, focused, unfolded: renewed ? target.querySelectorAll("details[id][open]") : [] };
});
const addressOf = (element) => element.getAttribute("href") || element.form?.getAttribute("action");
const alike = (lost, region, renewed) => {
  const things = (root) => [...root.querySelectorAll("a, button, summary")];
  const same = (root) => things(root).filter((one) => addressOf(lost) && addressOf(one) === addressOf(lost));
  if (lost.href && same(region)[0]) return same(region)[0];
  const row = lost.closest("[id]");
  const now = !row || row.isConnected || row.id === region.id ? region : document.getElementById(row.id);
  if (!now || !region.contains(now)) return;
  const place = row === lost ? now : now !== region && things(now)[things(row).indexOf(lost)];
  const found = same(now).length === 1 ? same(now)[0] : place;
  if (found && !(renewed && found.textContent !== lost.textContent)) return found;
};
onSwap((region, { stood: { renewed, focused, unfolded } }) => {
  for (const { id } of unfolded) document.getElementById(id)?.setAttribute("open", "");
  const errors = $("[data-focus]", region);
  if (errors) focusOn(errors);
  else if (focused && !focused.isConnected && document.activeElement === body) {
    alike(focused, region, renewed)?.focus();
    const row = focused.closest("li[id]");
    if (row && document.activeElement === body) $(`#${CSS.escape(row.id)} summary`)?.focus();
    if (document.activeElement === body) focusOn(region.closest("main") ? $("h1, h2, h3", region) || region : region);
  }
});
