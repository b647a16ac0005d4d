// What the other parts are written with. No innerHTML, no eval: Trusted Types are on.
export const body = document.body;
export const $ = (selector, root = document) => root.querySelector(selector);
export const isPlain = (click) => !(click.defaultPrevented || click.button || click.ctrlKey || click.metaKey || click.shiftKey || click.altKey);
export const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

// What to do with what stands now where an answer was put.
export const onSwap = (act) => document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  const { target } = ctx;
  const region = (target?.id && document.getElementById(target.id)) || target;
  if (region?.isConnected) act(region, ctx);
});
