// What pages of staff have beside portal.js: patients load none of it.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // Find, for staff: Ctrl K goes to the box, arrows to the hits, Enter opens the first: at once when the hits are for what
  // is typed, else as soon as these come.
  const find = $("#find");
  if (find) {
    const sought = () => find.value.trim().replace(/\s+/g, " ");
    const first = () => ($("#found")?.dataset.for === sought() ? $("#found .hit-main") : null);
    // Of two of the same name none is opened unseen.
    const open = () => first()?.[$("#found[data-ambiguous]") ? "focus" : "click"]();
    let opening;
    find.form.addEventListener("submit", (event) => {
      opening = sought();
      if (first()) event.preventDefault(), event.stopImmediatePropagation(), open();
    }, true);
    find.addEventListener("input", () => (opening = null));
    document.addEventListener("htmx:after:swap", () => opening && opening === sought() && open());
    document.addEventListener("keydown", (event) => {
      const { key, code, target } = event;
      if ((event.ctrlKey || event.metaKey) && (key === "k" || code === "KeyK")) event.preventDefault(), find.focus(), find.select();
      if (!target.closest(".find, #found")) return;
      const stops = [find, ...document.querySelectorAll("#found .hit-main")];
      const step = { ArrowDown: 1, ArrowUp: -1 }[key];
      if (step) event.preventDefault(), stops[Math.max(0, stops.indexOf(target) + step)]?.focus();
      else if (key === "Escape") document.activeElement.blur();
    });
  }

  // The form of a protocol: each day that was typed has its date beside it, as the drawing has it.
  document.addEventListener("htmx:after:swap", () => {
    if (!$("#days")) return;
    each(".plan-day output", (output) => {
      output.textContent = $(`#days [data-date-of="${output.htmlFor}"]`)?.textContent ?? "";
    });
  });

  // Keys, for staff: "?" lists them, "/" goes to the box, "g" and then a section's letter goes there.
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
})();
