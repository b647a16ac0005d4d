// What is new counts as read once the page has been shown, and htmx isn't loaded for that. Without it: the button does it.
//
// The others hear of it as of htmx: whose session answered, where the focus was, what is new to say.
import { $ } from "../dom.js";

const form = $("#read form");
if (form) new PerformanceObserver((_, observer) => {
  observer.disconnect();
  // XMLHttpRequest parses what it receives, which Trusted Types keep from scripts.
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.responseType = "document";
  request.setRequestHeader("HX-Request", "true");
  request.setRequestHeader("HX-Target", "div#read");
  request.onload = () => {
    const answer = request.response;
    const read = answer && $("#read", answer);
    const target = $("#read");
    const ctx = { hx: {}, response: { headers: { get: (name) => request.getResponseHeader(name) } }, sourceElement: form, target };
    const tell = (event) => document.dispatchEvent(new CustomEvent("htmx:" + event, { cancelable: true, detail: { ctx } }));
    if (!tell("before:response") || !read || !target) return;
    tell("before:swap");
    target.replaceWith(read);
    const bell = $("#bell", answer);
    if (bell) {
      $("#bell").setAttribute("hx-get", bell.getAttribute("hx-get"));
      $("#bell").replaceChildren(...bell.childNodes);
    }
    $("#toasts").append(...answer.querySelectorAll(".toast"));
    tell("after:swap");
  };
  request.send(new FormData(form));
}).observe({ type: "paint", buffered: true });
