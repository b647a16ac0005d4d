// Toasts leave by themselves, or when they are closed. Without it: they stay until the next page; the cross isn't shown.
//
// One tells whoever pressed something that no answer came. Without it: the browser's own page does.
//
// They don't leave under the pointer or the focus, and never one with an Undo or a warning in under 20 s.
import { focusOn } from "./focus_on.js";
import { $ } from "./dom.js";

const fade = (toast) => setTimeout(
  () => (toast.matches(":hover, :focus-within") ? fade(toast) : toast.remove()),
  toast.matches(":has(form), [data-tone=attention]") ? 20000 : 8000,
);
const toasts = $("#toasts");
if (toasts) {
  [...toasts.children].forEach(fade);
  // What a page brings along isn't read out; what changes on it is.
  const brought = $(".toast p", toasts);
  if (brought) setTimeout(() => ($("#said").textContent = brought.innerText), 100);
  new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach(
    (node) => node.matches?.(".toast") && fade(node),
  ))).observe(toasts, { childList: true });
}
let unanswered;
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (!/click|submit/.test(ctx?.sourceEvent.type)) return;
  unanswered?.remove();
  unanswered = Object.assign(document.createElement("p"), { className: "toast", textContent: toasts.dataset.unanswered });
  unanswered.dataset.tone = "attention";
  toasts.append(unanswered);
});
document.addEventListener("htmx:after:swap", (event) => event.detail.ctx.sourceElement?.closest(".toast")?.remove());

// The focus doesn't leave with a toast: it goes back to the content, where the act was.
document.addEventListener("click", ({ target }) => {
  const toast = target.closest("[data-dismiss]")?.closest(".toast");
  const had = toast?.contains(document.activeElement);
  toast?.remove();
  if (had) focusOn($("#main h1") || $("#main"));
});
