// From 1,600 px a row of a list opens beside it: a click or Enter shows its record, j and k then the next one's, Escape closes
// it, and the row keeps the focus. Without it: a row leads to its record's page.
import { $, body, isPlain } from "../dom.js";

const page = $("#results .table[data-rows]") && $("#main");
const isWide = matchMedia("(width >= 100rem)");
const beside = Object.assign(document.createElement("aside"), { id: "record-beside", className: "record-beside" });
let shown = "";
let waiting;
let request;

const rowOf = (element) => element.closest("#results tr")?.querySelector(".row-link");
const mark = (row) => {
  $("#results [aria-current=true]")?.removeAttribute("aria-current");
  row?.setAttribute("aria-current", "true");
};
// What was typed beside the list is kept as on a page that is left (unsent.js).
const empty = () => (dispatchEvent(new Event("portal:leave")), beside.replaceChildren());
// The record shown before goes at once, so that nobody acts on it as this row's. An answer that comes late is of a row that was
// left, so it is dropped; one of no session or another's is a page of its own.
function open(row) {
  shown = row.href;
  mark(row);
  beside.setAttribute("aria-label", row.textContent);
  beside.setAttribute("aria-busy", "true");
  empty();
  page.append(beside);
  request?.abort();
  request = Object.assign(new XMLHttpRequest(), { responseType: "document" });
  request.onload = ({ target }) => {
    const main = target.response && $("#main", target.response);
    if (!main || target.response.body.dataset.session !== body.dataset.session) return location.assign(row.href);
    beside.replaceChildren(...main.childNodes);
    beside.removeAttribute("aria-busy");
    beside.scrollTop = 0;
  };
  request.onerror = () => location.assign(row.href);
  request.open("GET", row.href);
  request.send();
}
function close() {
  shown = "";
  clearTimeout(waiting);
  request?.abort();
  mark();
  empty();
  beside.remove();
}
if (page) {
  page.addEventListener("click", (event) => {
    const row = event.target.closest("#results .row-link");
    if (!row || !isWide.matches || !isPlain(event)) return;
    if (shown === row.href) return;
    event.preventDefault();
    open(row);
  });
  page.addEventListener("focusin", ({ target }) => {
    if (!shown || !target.matches("#results .row-link") || target.href === shown) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => document.activeElement === target && open(target), 250);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !shown || event.target.closest("dialog, [popover], .find")) return;
    const row = rowOf($("#results [aria-current=true]") ?? body);
    close();
    row?.focus();
  });
  isWide.addEventListener("change", () => isWide.matches || close());
}
