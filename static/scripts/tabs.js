// The tab in hand is in sight, where scroll-initial-target isn't known (Safari, Firefox). Without it: one scrolls there.
import { body, onSwap } from "./dom.js";

const showTab = (root) => CSS.supports("scroll-initial-target", "nearest") || root.querySelectorAll(".tabs [aria-current]").forEach((tab) => {
  const strip = tab.closest(".tabs");
  const [{ left, right }, at] = [strip.getBoundingClientRect(), tab.getBoundingClientRect()];
  strip.scrollLeft += (at.left + at.right - left - right) / 2;
});
showTab(body);
onSwap(showTab);
