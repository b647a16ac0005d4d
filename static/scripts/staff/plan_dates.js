// The form of a protocol: each day that was typed has its date beside it, as the drawing has it. Without it: the dates
// stand there once the form is checked.
import { $, each } from "../dom.js";

document.addEventListener("htmx:after:swap", () => {
  if (!$("#days")) return;
  each(".plan-day output", (output) => {
    output.textContent = $(`#days [data-date-of="${output.htmlFor}"]`)?.textContent ?? "";
  });
});
