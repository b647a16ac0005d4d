// What can't be seen at this width: pages that scroll sideways, words that are cut, words that lie on each other.
() => {
  const faults = [];
  const name = (element) => {
    const words = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return `${element.tagName.toLowerCase()}${element.id ? "#" + element.id : ""}.${[...element.classList].join(".")} "${words}"`;
  };
  // An element and those around it are asked once, however many lines of text they hold.
  const once = (ask) => {
    const known = new Map();
    return (element) => {
      if (!known.has(element)) known.set(element, ask(element));
      return known.get(element);
    };
  };
  const styleOf = once((element) => getComputedStyle(element));
  const clips = (style) => style.clipPath !== "none" || style.clip !== "auto";
  const isClipped = once((element) => element !== null && element !== document.body && (clips(styleOf(element)) || isClipped(element.parentElement)));
  const hidden = once((element) => isClipped(element) || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true }));

  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) {
    const out = [...document.querySelectorAll("body *")].filter((one) => {
      const box = one.getBoundingClientRect();
      return box.width && (box.right > wide + 1 || box.left < -1) && !hidden(one);
    });
    faults.push(`scrolls sideways, ${document.documentElement.scrollWidth} px of ${wide}: ${out.slice(-3).map(name).join(" | ")}`);
  }

  for (const one of document.querySelectorAll("body *")) {
    const style = styleOf(one);
    const cutsAcross = ["hidden", "clip"].includes(style.overflowX) && one.scrollWidth > one.clientWidth + 1;
    const cutsDown = ["hidden", "clip"].includes(style.overflowY) && one.scrollHeight > one.clientHeight + 2;
    // A line that says the beginning of what the link opens in full may end in dots.
    if ((cutsAcross || cutsDown) && one.textContent.trim() && !one.matches(".link-meta, .wait-names, select, textarea") && !hidden(one)) {
      faults.push(`is cut: ${name(one)}`);
    }
  }

  // Words on words: each line of text against every other that doesn't float above the page.
  const floats = once((element) => {
    if (element === null || element === document.body) return false;
    const { position, display } = styleOf(element);
    return ["fixed", "sticky"].includes(position) || display === "none" || element.matches(".menu-panel, dialog, .stamp") || floats(element.parentElement);
  });
  const cutsBy = once((element) => {
    if (element === null || element === document.body) return [];
    const around = cutsBy(element.parentElement);
    return styleOf(element).overflowX === "visible" ? around : [element.getBoundingClientRect(), ...around];
  });
  const lines = [];
  const walker = document.createTreeWalker(document.querySelector("main") || document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || hidden(parent) || floats(parent) || parent.closest("option, svg, .visually-hidden")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    // What an element cuts off isn't seen on top of anything.
    const cut = cutsBy(parent);
    for (const rect of range.getClientRects()) {
      const left = Math.max(rect.left, ...cut.map((by) => by.left));
      const right = Math.min(rect.right, ...cut.map((by) => by.right));
      const top = Math.max(rect.top, ...cut.map((by) => by.top));
      const bottom = Math.min(rect.bottom, ...cut.map((by) => by.bottom));
      const box = { left, right, top, bottom, height: bottom - top };
      if (right - left > 2 && box.height > 2) lines.push({ box, node });
    }
  }
  lines.sort((a, b) => a.box.top - b.box.top);
  for (let i = 0; i < lines.length; i++) {
    for (let j = i + 1; j < lines.length && lines[j].box.top < lines[i].box.bottom; j++) {
      const a = lines[i], b = lines[j];
      if (a.node === b.node) continue;
      const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      // Lines of text may touch by their leading; their letters may not.
      const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      if (across > 2 && down > Math.min(a.box.height, b.box.height) * 0.45) {
        faults.push(`lie on each other: "${a.node.data.trim().slice(0, 30)}" and "${b.node.data.trim().slice(0, 30)}"`);
      }
    }
  }
  return [...new Set(faults)];
}
