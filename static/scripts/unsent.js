// What was typed is handed in, to be kept and not to be taken: it is there again after signing in, and for whoever left
// the page without sending it. Without it: what wasn't sent is lost with the page.
//
// A link in the form leaves it by choice, and what waits since it was answered is forgotten; a signature is given in one go.
import { $, body, isPlain } from "./dom.js";

let typed, sent, isKept, isAnswered;
const note = (field) => {
  if (field?.form?.method === "post" && field.type !== "search") typed = field.form;
};
note($("#main [aria-invalid]"));
document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  isAnswered ||= ctx.sourceElement?.closest("form")?.method === "post";
  if (!typed) note($("#main [aria-invalid]"));
});
document.addEventListener("input", ({ target }) => note(target));
document.addEventListener("submit", ({ target }) => target === typed && ((sent = typed), (typed = null)), true);
document.addEventListener("htmx:error", ({ detail: { ctx } }) => ctx?.sourceElement === sent && (typed = sent));
const handIn = (form, why, names = /./) => {
  const text = new URLSearchParams([...new FormData(form)].filter(([name]) => names.test(name)));
  text.append("only-keep", why);
  fetch(form.action, { method: "POST", body: text, keepalive: true, redirect: "manual" });
};
document.addEventListener("click", (event) => {
  const form = event.target.closest("#main form[method=post] a:not([href^='#'], [target])")?.closest("form");
  if (!form || !isPlain(event)) return;
  if (form === typed) typed = null;
  if (isAnswered || body.dataset.page || $("#given-back")) handIn(form, "left", /^(csrf_token|typed-for)$/);
});
const leave = () => {
  if (typed && (isKept || typed.isConnected) && !typed.matches("[action*='/sign/']")) handIn(typed, "");
};
addEventListener("pagehide", leave);
addEventListener("portal:leave", leave);

// For the end of the session, which empties the page: what was typed is kept apart, and can be taken once.
export const keep = () => {
  if (!typed?.isConnected) typed = null;
  isKept = true;
};
export const take = (form = typed) => ((typed = null), form);
