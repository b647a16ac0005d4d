// What came while a conversation is open stands at its end, below what is being read. It counts as read when its last
// message is in sight: then the button that leads there goes. Without it: it counts as read when the page is loaded.
import { $ } from "../dom.js";

const sight = new IntersectionObserver((entries) => {
  if (!entries.some((one) => one.isIntersecting) || document.hidden) return;
  sight.disconnect();
  document.dispatchEvent(new Event("portal:seen"));
}, { rootMargin: "0px 0px -64px" });
document.addEventListener("htmx:after:swap", () => setTimeout(() => {
  sight.disconnect();
  const last = $("#jump") && $("#messages > :last-child");
  if (last) sight.observe(last);
}));
