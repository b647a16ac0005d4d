// What the other parts are written with. No innerHTML, no eval: Trusted Types are on.
const body = document.body;
const $ = (selector, root = document) => root.querySelector(selector);
const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

// What stands now where an answer was put; null when it is gone.
const swapped = ({ detail: { ctx: { target } } }) => {
  const region = (target?.id && document.getElementById(target.id)) || target;
  return region?.isConnected ? region : null;
};
