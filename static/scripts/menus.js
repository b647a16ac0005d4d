// A menu closes when the click goes elsewhere, and by Escape. Without it: by its own button.
import { $, each } from "./dom.js";

document.addEventListener("keydown", ({ key }) => {
  const open = key === "Escape" && $("details[data-menu][open]");
  if (open) (open.open = false), $("summary", open).focus();
});
document.addEventListener("click", ({ target }) => each("details[data-menu][open]", (menu) => {
  if (!menu.contains(target)) menu.open = false;
}));
