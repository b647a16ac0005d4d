// A warning two minutes before the session ends, and nothing left of the page once it has: by itself, in another tab or
// elsewhere, or because someone else has signed in since. Without it: the next request leads to signing in.
//
// Page and answers carry a tag of their session; when an answer has none or another's, the page is over. They say for how many
// seconds it lasts, as this device's clock may be wrong.
import { $, body } from "./dom.js";
import { keep, take } from "./unsent.js";

const dialog = $("#session-warning");
export const own = body.dataset.session;
let ends = Date.now() + body.dataset.lasts * 1000;
let over = false;
let halves; // minutes left, by which the warning is read out
const part = (name) => $(`[data-session=${name}]`, dialog);
const tabs = new BroadcastChannel("session");
const tell = () => tabs.postMessage([own, ends]);

// Opened anew, the dialog gives the focus to its one button and is read out.
const ask = () => {
  part("warning").hidden = over;
  part("ended").hidden = !over;
  const told = over ? "session-ended-" : "session-warning-";
  dialog.setAttribute("aria-labelledby", told + "title");
  dialog.setAttribute("aria-describedby", told + "text");
  dialog.close();
  dialog.showModal();
};
// What was typed is kept apart: the server gives it back to that person alone.
const clear = () => {
  if (over) return;
  over = true;
  keep();
  // Behind a first part the scripts are here, and htmx, which may still be on its way, reads a script's nonce.
  body.replaceChildren(...body.querySelectorAll("script"), dialog);
  document.title = $("h2", part("ended")).textContent;
  ask();
};
const isOwn = (headers) => {
  const tag = headers.get("Session-Tag");
  if (tag && tag !== own) clear();
  const lasts = !over && headers.get("Session-Lasts");
  if (lasts) ends = Date.now() + lasts * 1000, tell();
  return tag === own;
};
const send = (path) => fetch(path, { redirect: "manual" }).then(({ headers }) => isOwn(headers), () => {});
const check = () => over || send("/session");
// A redirect to signing in tells nothing.
const stay = async () => (await send("/session/stay")) ? dialog.close() : check();
const signInAgain = () => {
  const form = take();
  if (!form) return location.reload();
  form.hidden = true;
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "only-keep" }));
  body.append(form);
  form.submit();
};
tell();
if (own) {
  tabs.onmessage = ({ data: [tag, later] }) => {
    if (tag !== own) check();
    else ends = later;
  };
  document.addEventListener("visibilitychange", () => document.hidden || check());
  document.addEventListener("htmx:before:response", (event) => {
    isOwn(event.detail.ctx.response.headers);
    if (over && !event.detail.ctx.hx.redirect) event.preventDefault();
  });
  document.addEventListener("submit", ({ target }) => target.action.endsWith("/sign-out") && addEventListener("pagehide", () => tabs.postMessage([])));
  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-stay]")) stay();
    else if (target.closest("[data-sign-in]")) signInAgain();
  });
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    over || stay(); // Escape is from someone who is there
  });
  if (body.dataset.lasts > 0) setInterval(() => {
    const left = Math.ceil((ends - Date.now()) / 1000);
    if (over || left > 120) return over || dialog.close();
    if (left <= 0) return clear();
    $("[data-countdown]", dialog).textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    // A busy machine leaves seconds out.
    if (dialog.open && halves !== Math.ceil(left / 30)) part("said").textContent = $("p", part("warning")).textContent;
    halves = Math.ceil(left / 30);
    dialog.open || ask();
  }, 1000);
}
