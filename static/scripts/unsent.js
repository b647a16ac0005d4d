// What was typed is handed in, to be kept and not to be taken: it is there again after signing in, and for whoever left
// the page without sending it. Without it: what wasn't sent is lost with the page.
//
// A link in the form leaves it by choice, and what waits is forgotten; a signature is given in one go.
import { $, body } from "./dom.js";

let typed, isKept;
const note = (field) => {
  if (field?.form?.method === "post" && field.type !== "search") typed = field.form;
};
note($("#main [aria-invalid]"));
document.addEventListener("htmx:after:swap", () => typed || note($("#main [aria-invalid]")));
document.addEventListener("input", ({ target }) => note(target));
document.addEventListener("submit", ({ target }) => target === typed && (typed = null), true);
const handIn = (form, why) => {
  const text = new URLSearchParams(new FormData(form));
  text.append("only-keep", why);
  fetch(form.action, { method: "POST", body: text, keepalive: true, redirect: "manual" });
};
document.addEventListener("click", ({ target }) => {
  const form = target.closest("#main form[method=post] a:not([href^='#'])")?.closest("form");
  if (!form) return;
  if (form === typed) typed = null;
  if (body.dataset.page || $("#given-back")) handIn(form, "left");
});
addEventListener("pagehide", () => {
  if (typed && (isKept || typed.isConnected) && !typed.matches("[action*='/sign/']")) handIn(typed, "");
});

// For the end of the session, which empties the page: what was typed is kept apart, and can be taken once.
export const keep = () => {
  if (!typed?.isConnected) typed = null;
  isKept = true;
};
export const take = (form = typed) => ((typed = null), form);
