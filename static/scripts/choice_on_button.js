// A choice is named on the button that sends it. Without it: the button says its general word.
import { $ } from "./dom.js";

document.addEventListener("change", ({ target }) => {
  const { namesButton } = target.dataset;
  if (namesButton) $(".act-bar .button span", target.form).textContent = namesButton;
});
