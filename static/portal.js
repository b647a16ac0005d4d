// What works without this script works better with it. No innerHTML, no eval: Trusted Types are on.
(() => {
  const body = document.body;
  const $ = (selector, root = document) => root.querySelector(selector);
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // A page kept by the browser must not show records after signing out.
  addEventListener("pageshow", (event) => {
    if (event.persisted && "signedIn" in body.dataset) location.reload();
  });

  // What isn't needed to see the page comes when it is painted: htmx (until then, and if the line breaks, links and
  // forms work as they do without scripts), and what a home screen needs.
  const vendored = new URL("vendor/htmx.js", document.currentScript.src);
  new PerformanceObserver(async (_, observer) => {
    observer.disconnect();
    await import(vendored).catch(() => {});
    const manifest = document.createElement("link");
    manifest.rel = "manifest";
    manifest.href = "/portal.webmanifest";
    document.head.append(manifest);
  }).observe({ type: "paint", buffered: true });

  // An error summary takes the focus, on a new page and after a swap.
  // A swap that takes away what had the focus gives it to its like in the new region (the same address, the same
  // place in the same row), else to the region's heading, or the region.
  const focusOn = (element) => {
    if (!element.matches("a, button, input, select, textarea, [tabindex]")) element.tabIndex = -1;
    element.focus();
  };
  const summary = $("#main [data-focus]");
  if (summary) focusOn(summary);
  // The tab in hand is in sight, where the style sheet's scroll-initial-target isn't known (Safari, Firefox).
  const showTab = (root) => CSS.supports("scroll-initial-target", "nearest") || root.querySelectorAll(".tabs [aria-current]").forEach((tab) => {
    const strip = tab.closest(".tabs");
    const [{ left, right }, at] = [strip.getBoundingClientRect(), tab.getBoundingClientRect()];
    strip.scrollLeft += (at.left + at.right - left - right) / 2;
  });
  showTab(body);
  let focused;
  document.addEventListener("htmx:before:swap", (event) => {
    const { sourceElement, target } = event.detail.ctx;
    const at = document.activeElement;
    focused = at !== body && (sourceElement?.contains(at) || target?.contains?.(at)) ? at : null;
  });
  const addressOf = (element) => element.getAttribute("href") || element.form?.getAttribute("action");
  const alike = (lost, region) => {
    const things = (root) => [...root.querySelectorAll("a, button, summary")];
    const row = lost.closest("[id]");
    const now = row && row.id !== region.id && document.getElementById(row.id);
    return things(region).find((one) => addressOf(lost) && addressOf(one) === addressOf(lost))
      || (now && region.contains(now) ? things(now)[things(row).indexOf(lost)] : null);
  };
  document.addEventListener("htmx:after:swap", (event) => {
    event.detail.ctx.sourceElement?.closest(".toast")?.remove();
    // The tab's title tells the bell's count, as it is now.
    const unread = $("#bell .badge")?.firstChild.data.trim();
    document.title = (unread ? `(${unread}) ` : "") + document.title.replace(/^\(\d+\+?\) /, "");
    const target = event.detail.ctx.target;
    const region = (target?.id && document.getElementById(target.id)) || target;
    if (!region?.isConnected) return;
    showTab(region);
    // Only what changes inside a region that stays is read out: a new region's own words are said there.
    const news = $("[data-say]", region);
    if (news) $("#said").textContent = news.innerText;
    const errors = $("[data-focus]", region);
    if (errors) focusOn(errors);
    else if (focused && !focused.isConnected && document.activeElement === body) {
      alike(focused, region)?.focus();
      const row = focused.closest("li[id]");
      if (row && document.activeElement === body) $(`#${CSS.escape(row.id)} summary`)?.focus();
      if (document.activeElement === body) focusOn(region.closest("main") ? $("h1, h2, h3", region) || region : region);
    }
  });

  // The answer to one act may replace the region that another's is meant for: that goes into what stands there now.
  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    if (ctx.target?.isConnected === false) ctx.target = document.getElementById(ctx.target.id) || ctx.target;
  });

  // "portal:look" says that someone is looking (the bell listens): on coming back, and each 30 s while in sight.
  // A hidden tab has no timer, so nothing wakes it.
  const look = () => document.dispatchEvent(new Event("portal:look"));
  let looking;
  const watch = () => {
    clearInterval(looking);
    looking = document.hidden ? 0 : setInterval(look, 30000);
  };
  document.addEventListener("visibilitychange", () => (watch(), document.hidden || look()));
  watch();

  // What was pressed shows at once that it is under way, and after 200 ms a line at the top of the page does.
  let pressed, line;
  const idle = () => {
    clearTimeout(line);
    pressed?.removeAttribute("aria-busy");
    pressed = null;
    delete document.documentElement.dataset.loading;
  };
  const busy = (element) => {
    idle();
    pressed = element;
    element?.setAttribute("aria-busy", "true");
    line = setTimeout(() => {
      document.documentElement.dataset.loading = "";
      line = setTimeout(idle, 15000);
    }, 200);
  };
  const isFile = ({ pathname }) => /^\/files\/|\.[a-z]+$/.test(pathname);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const leads = link && link.origin === location.origin && !link.target && !isFile(link) && !link.dataset.dialog;
    const isHere = link?.pathname === location.pathname && link.search === location.search;
    if (leads && !isHere && !event.defaultPrevented && !event.button && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)) busy(link);
  });
  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => ctx.sourceElement?.matches("a, button") && busy(ctx.sourceElement));

  // One act is sent once, however quickly it is pressed again; a page that comes back can send again.
  let sending = [];
  const underWay = new Set();
  const release = (source = body) => {
    // What was swapped out has been answered.
    const isOf = (element) => source === body || !element.isConnected || source.contains(element) || element.contains(source);
    if (pressed && isOf(pressed)) idle();
    sending.filter(isOf).forEach((button) => button.removeAttribute("aria-disabled"));
    sending = sending.filter((button) => !isOf(button));
    underWay.forEach((form) => isOf(form) && underWay.delete(form));
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || form.closest(".find")) return;
    const button = event.submitter || $("button:not([type=button])", form);
    if (underWay.has(form)) return event.preventDefault(), event.stopImmediatePropagation();
    underWay.add(form);
    busy(button);
    if (form.closest(".toast")) sessionStorage.place = JSON.stringify([location.pathname, scrollY]);
    // After this turn, so that the button's own name and value are still sent.
    setTimeout(() => {
      setTimeout(release, 15000, form);
      if (!button) return;
      button.setAttribute("aria-disabled", "true");
      sending.push(button);
    });
  }, true);
  document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => release(ctx.sourceElement));
  addEventListener("pageshow", () => release());

  // Undo leads back to the place where the act was.
  const [path, top] = JSON.parse(sessionStorage.place || "[]");
  if (path === location.pathname) scrollTo(0, top);
  sessionStorage.removeItem("place");

  // A menu closes when the click goes elsewhere, and by Escape.
  const closeMenus = (except) => each("details[data-menu][open]", (menu) => {
    if (!menu.contains(except)) menu.open = false;
  });

  document.addEventListener("keydown", ({ key }) => {
    const open = key === "Escape" && $("details[data-menu][open]");
    if (open) (open.open = false), $("summary", open).focus();
  });
  document.addEventListener("click", async (event) => {
    closeMenus(event.target);
    const hit = event.target.closest("[data-copy], [data-dismiss], [data-dialog], [data-print], [data-stay], [data-sign-in]");
    if (!hit) return;
    if (hit.dataset.copy) {
      await navigator.clipboard.writeText(hit.dataset.copy);
      const word = hit.lastElementChild;
      const before = word.textContent;
      word.setAttribute("role", "status");
      word.textContent = hit.dataset.done;
      setTimeout(() => (word.textContent = before), 2000);
    } else if ("dismiss" in hit.dataset) dismiss(hit.closest(".toast"));
    else if (hit.dataset.dialog) {
      event.preventDefault();
      document.getElementById(hit.dataset.dialog).showModal();
    } else if ("print" in hit.dataset) print();
    else if ("stay" in hit.dataset) stay();
    else signInAgain();
  });

  // The focus doesn't leave with a toast: it goes back to the content, where the act was.
  const dismiss = (toast) => {
    const had = toast.contains(document.activeElement);
    toast.remove();
    if (had) focusOn($("#main h1") || $("#main"));
  };

  // Toasts leave by themselves, but not under the pointer or the focus, and never one with an Undo in under 20 s.
  const fade = (toast) => setTimeout(
    () => (toast.matches(":hover, :focus-within") ? fade(toast) : toast.remove()),
    $("form", toast) ? 20000 : 8000,
  );
  const toasts = $("#toasts");
  if (toasts) {
    [...toasts.children].forEach(fade);
    // What a page brings along isn't read out; what changes on it is.
    const brought = $(".toast p", toasts);
    if (brought) setTimeout(() => ($("#said").textContent = brought.innerText), 100);
    new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach(
      (node) => node.matches?.(".toast") && fade(node),
    ))).observe(toasts, { childList: true });
  }

  // The session: a warning two minutes before its end, and nothing left in sight after it.
  const dialog = $("#session-warning");
  let ends = Date.parse(body.dataset.expiresAt);
  const lasts = ends - Date.now();
  const part = (name) => $(`[data-session=${name}]`, dialog);
  const stay = async () => {
    const answer = await fetch("/", { method: "HEAD", redirect: "manual" });
    const later = Date.parse(answer.headers.get("Session-Expires-At"));
    if (!(later > Date.now())) return signInAgain();
    ends = later;
    dialog.close();
  };
  // A choice is named on the button that sends it.
  document.addEventListener("change", ({ target }) => {
    const { namesButton } = target.dataset;
    if (namesButton) $(".act-bar .button span", target.form).textContent = namesButton;
  });

  // A form is read aloud by a voice of this device alone: others send the text to whoever made the voice.
  const reader = $("[data-read-aloud]");
  if (reader && window.speechSynthesis) {
    const voice = () => speechSynthesis.getVoices().find((one) => one.localService && one.lang.slice(0, 2) === document.documentElement.lang.slice(0, 2));
    const word = $("span", reader);
    const [offer, stop] = [word.textContent, reader.dataset.readAloud];
    const silence = () => (speechSynthesis.cancel(), (word.textContent = offer));
    const look = () => (reader.parentElement.hidden = !voice());
    look();
    speechSynthesis.addEventListener("voiceschanged", look);
    reader.addEventListener("click", () => {
      if (word.textContent === stop) return silence();
      word.textContent = stop;
      const pieces = [...document.querySelectorAll(".paper h1, .clause-text > *")];
      pieces.forEach((piece, at) => {
        const said = new SpeechSynthesisUtterance(piece.innerText);
        said.voice = voice();
        said.lang = said.voice.lang;
        if (at === pieces.length - 1) said.onend = silence;
        speechSynthesis.speak(said);
      });
    });
    addEventListener("pagehide", silence);
  }

  // What was typed is handed in, to be kept and not to be taken: it is there again after signing in, and for whoever left
  // the page without sending it. (A link in the form leaves it by choice; a signature is given in one go.)
  let typed;
  const note = (field) => {
    if (field?.form?.method === "post" && field.type !== "search") typed = field.form;
  };
  note($("#main [aria-invalid]"));
  document.addEventListener("htmx:after:swap", () => typed || note($("#main [aria-invalid]")));
  document.addEventListener("input", ({ target }) => note(target));
  document.addEventListener("submit", ({ target }) => target === typed && (typed = null), true);
  document.addEventListener("click", ({ target }) => typed?.contains(target.closest("a")) && (typed = null));
  addEventListener("pagehide", () => {
    if (!typed?.isConnected || typed.matches("[action*='/sign/']")) return;
    const text = new URLSearchParams(new FormData(typed));
    text.append("only-keep", "");
    fetch(typed.action, { method: "POST", body: text, keepalive: true, redirect: "manual" });
  });
  const signInAgain = () => {
    const form = typed;
    typed = null;
    if (!form?.isConnected) return location.reload();
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "only-keep" }));
    form.submit();
  };
  if (dialog && lasts > 0) {
    document.addEventListener("htmx:after:request", (event) => {
      const later = Date.parse(event.detail.ctx.response?.headers?.get("Session-Expires-At"));
      if (later > ends) ends = later;
    });
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      if (!part("warning").hidden) stay(); // Escape is from someone who is there
    });
    setInterval(() => {
      const left = Math.ceil((ends - Date.now()) / 1000);
      if (left > 120) return dialog.open && dialog.close();
      const over = left <= 0;
      if (!over) {
        $("[data-countdown]", dialog).textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
        if (left % 30 === 0) part("said").textContent = $("p", part("warning")).textContent;
      }
      if (dialog.open && over === part("warning").hidden) return;
      part("warning").hidden = over;
      part("ended").hidden = !over;
      const told = `session-${over ? "ended" : "warning"}-`;
      dialog.setAttribute("aria-labelledby", told + "title");
      dialog.setAttribute("aria-describedby", told + "text");
      // Opened anew, the dialog gives the focus to its one button and is read out.
      dialog.close();
      dialog.showModal();
    }, 1000);
  }
})();
