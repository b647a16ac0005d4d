// Keys: "?" lists them, "/" goes to the box, "g" and then a section's letter goes there. Without it: the help on keys
// isn't shown.
import { $, each } from "../dom.js";

const list = $("[data-shortcuts]");
const keys = $("#use-keys");
const links = {};
if (list) {
  $(".rail-help").hidden = false;
  keys.checked = !document.cookie.includes("__Host-keys=off");
  keys.addEventListener("change", () => {
    document.cookie = `__Host-keys=${keys.checked ? "on" : "off"}; Path=/; Secure; SameSite=Lax; Max-Age=31536000`;
  });
  each("[data-key]", (link) => {
    const key = link.dataset.key;
    links[key] = link;
    const row = list.firstElementChild.cloneNode(true);
    const first = $("kbd", row);
    const second = first.cloneNode();
    first.textContent = "g";
    second.textContent = key;
    first.after(second);
    row.lastElementChild.textContent = $("span", link).textContent;
    list.append(row);
  });
}
let last = "";
document.addEventListener("keydown", (event) => {
  if (!keys?.checked || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (event.key === "?") document.getElementById("shortcuts").showModal();
  else if (event.key === "/" && $("[type=search]")) event.preventDefault(), $("[type=search]").focus();
  else if (last === "g" && links[event.key]) links[event.key].click();
  last = event.key;
});
