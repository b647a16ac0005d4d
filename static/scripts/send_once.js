// One act is sent once, however quickly it is pressed again; a page that comes back can send again. Without it: the
// server does a repeated act once (portal.web.act_once).
import { busy, idle, pressed } from "./busy.js";
import { $, body } from "./dom.js";

let sending = [];
const underWay = new Set();
const release = (source = body) => {
  // What was swapped out has been answered.
  const isOf = (element) => source === body || !element.isConnected || source.contains(element) || element.contains(source);
  if (pressed && isOf(pressed)) idle();
  sending.filter(isOf).forEach((button) => button.removeAttribute("aria-disabled"));
  sending = sending.filter((button) => !isOf(button));
  underWay.forEach((form) => isOf(form) && underWay.delete(form));
};
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || form.closest(".find")) return;
  const button = event.submitter || $("button:not([type=button])", form);
  if (underWay.has(form)) return event.preventDefault(), event.stopImmediatePropagation();
  underWay.add(form);
  busy(button);
  // After this turn, so that the button's own name and value are still sent.
  setTimeout(() => {
    setTimeout(release, 15000, form);
    if (!button) return;
    button.setAttribute("aria-disabled", "true");
    sending.push(button);
  });
}, true);
document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => release(ctx.sourceElement));
addEventListener("pageshow", () => release());
