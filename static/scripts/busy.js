// What was pressed shows at once that it is under way, and after 200 ms a line at the top of the page does. Without it:
// the browser's own sign of loading.
import { isPlain } from "./dom.js";

export let pressed;
let line;
export const idle = () => {
  clearTimeout(line);
  pressed?.removeAttribute("aria-busy");
  pressed = null;
  delete document.documentElement.dataset.loading;
};
export const busy = (element) => {
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
  if (leads && !isHere && isPlain(event)) busy(link);
});
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => ctx.sourceElement?.matches("a, button") && busy(ctx.sourceElement));
