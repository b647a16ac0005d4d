// An error summary takes the focus, on a new page and after a swap. Without it: it stands at the top of the page.
//
// A swap that takes away what had the focus gives it to its like in the new region (the same address, the same
// place in the same row), else to the region's heading, or the region.
import { focusOn } from "./focus_on.js";
import { $, body, onSwap } from "./dom.js";

const summary = $("#main [data-focus]");
if (summary) focusOn(summary);

let focused;
document.addEventListener("htmx:before:swap", (event) => {
  const { sourceElement, target } = event.detail.ctx;
  const at = document.activeElement;
  focused = at !== body && (sourceElement?.contains(at) || target?.contains?.(at)) ? at : null;
});
const addressOf = (element) => element.getAttribute("href") || element.form?.getAttribute("action");
const alike = (lost, region) => {
  const things = (root) => [...root.querySelectorAll("a, button, summary")];
  const row = lost.closest("[id]");
  const now = row && row.id !== region.id && document.getElementById(row.id);
  return things(region).find((one) => addressOf(lost) && addressOf(one) === addressOf(lost))
    || (now && region.contains(now) ? things(now)[things(row).indexOf(lost)] : null);
};
onSwap((region) => {
  const errors = $("[data-focus]", region);
  if (errors) focusOn(errors);
  else if (focused && !focused.isConnected && document.activeElement === body) {
    alike(focused, region)?.focus();
    const row = focused.closest("li[id]");
    if (row && document.activeElement === body) $(`#${CSS.escape(row.id)} summary`)?.focus();
    if (document.activeElement === body) focusOn(region.closest("main") ? $("h1, h2, h3", region) || region : region);
  }
});
