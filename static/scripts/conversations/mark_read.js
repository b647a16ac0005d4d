// What is new counts as read once the page has been shown, and htmx isn't loaded for that. Without it: the button does it.
import { $ } from "../dom.js";

// XMLHttpRequest parses what it receives, which Trusted Types keep from scripts.
const part = (id, method, path, data) => new Promise((done) => {
  const request = new XMLHttpRequest();
  request.open(method, path);
  request.responseType = "document";
  request.setRequestHeader("HX-Request", "true");
  request.setRequestHeader("HX-Target", "div#" + id);
  request.onload = () => done(request.response?.getElementById(id));
  request.send(data);
});
// Others hear of it as of htmx.
const tell = (target) => document.dispatchEvent(new CustomEvent("htmx:after:swap", { detail: { ctx: { target } } }));
const form = $("#read form");
if (form) new PerformanceObserver(async (_, observer) => {
  observer.disconnect();
  const read = await part("read", "POST", form.action, new FormData(form));
  if (!read) return;
  $("#read")?.replaceWith(read);
  if (read.isConnected) tell(read);
  const bell = await part("bell", "GET", $("#bell").getAttribute("hx-get"));
  if (bell) $("#bell").replaceChildren(...bell.childNodes);
  tell($("#bell"));
}).observe({ type: "paint", buffered: true });
