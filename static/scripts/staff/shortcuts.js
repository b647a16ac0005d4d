// Keys: "?" lists those of this page, "/" goes to the box, "g" and then a section's letter goes there, j and k walk the rows, n
// and p a queue, e edits, c makes, s signs and a archives what the row or page offers for it, u takes back what was just done.
// Without it: the help on keys isn't shown.
import { $, each } from "../dom.js";

const acts = {
  e: ":is(a, summary):has([href$='#edit'])",
  c: "a:has([href$='#add'])",
  s: ":is(#sign, a[href^='/consents/'][href*='/sign'])",
  a: "a[data-dialog^='archive']",
};
const pages = { n: "next", p: "prev" };
const list = $("[data-shortcuts]");
const keys = $("#use-keys");
const links = {};
if (list) {
  $(".rail-help").hidden = false;
  keys.checked = !document.cookie.includes("__Host-keys=off");
  keys.addEventListener("change", () => {
    document.cookie = `__Host-keys=${keys.checked ? "on" : "off"}; Path=/; Secure; SameSite=Lax; Max-Age=31536000`;
  });
  each("#rail [data-key]", (link) => {
    const key = link.dataset.key;
    links[key] = link;
    say(["g", key], $("span", link));
  });
  for (const row of list.querySelectorAll("[data-if]")) row.hidden = !$(`#main ${row.dataset.if}`);
  for (const key in acts) {
    const used = $(`#main ${acts[key]}`);
    if (used) say([key], $("h2, span", used)?.firstChild ?? used);
  }
}
function say(keys, named) {
  const row = list.firstElementChild.cloneNode(true);
  const first = $("kbd", row);
  first.textContent = keys[0];
  for (const key of keys.slice(1)) first.after(Object.assign(first.cloneNode(), { textContent: key }));
  row.lastElementChild.textContent = named.textContent;
  list.append(row);
}
// From the row that has the focus; from anywhere else, j goes to the first and k to the last.
function walk(step) {
  const rows = [...document.querySelectorAll("#main :is(.row-link, .link-row)")].filter((row) => row.checkVisibility());
  const at = rows.findIndex((row) => row.closest("tr, li").contains(document.activeElement));
  (at < 0 ? rows.at(step > 0 ? 0 : -1) : rows[Math.max(0, at + step)])?.focus();
}
// With the focus in a row, what is that row's; else what is the page's, and never another row's.
function use(selector) {
  const listed = ":is(tr, li):has(.row-link, .link-row)";
  const row = document.activeElement.closest(`#main ${listed}`);
  const used = row ? $(selector, row) : [...document.querySelectorAll(`#main ${selector}`)].find((one) => !one.closest(listed));
  const field = used && $("input:not([type=hidden])", used);
  if (field) field.focus();
  else used?.click();
}
let last = "";
document.addEventListener("keydown", (event) => {
  if (!keys?.checked || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog[open]")) return;
  if (event.key === "?") document.getElementById("shortcuts").showModal();
  else if (event.key === "/" && $("[type=search]")) event.preventDefault(), $("[type=search]").focus();
  else if (last === "g") links[event.key]?.click();
  else if (event.key === "j" || event.key === "k") walk(event.key === "j" ? 1 : -1);
  else if (pages[event.key]) $(`#main [rel=${pages[event.key]}]`)?.click();
  else if (event.key === "u") [...document.querySelectorAll("#toasts form button")].at(-1)?.click();
  else if (acts[event.key]) event.preventDefault(), use(acts[event.key]);
  last = event.key;
});
