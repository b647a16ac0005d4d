// Beside doses and visits: what this device's clock shows, where it isn't the clinic's. Without it: the foot of each page
// names the clinic's zone.
import { $, each, onSwap } from "./dom.js";

// A day's name needs Intl, which takes 30 ms to load, and a changed attribute styles the page anew: neither happens where both
// clocks show the same.
const tellClock = () => each("[data-at]", (line) => {
  const at = new Date(line.dataset.at);
  const here = at.toTimeString().slice(0, 5);
  const isSame = line.dataset.at.startsWith(here, 11);
  if (line.hidden !== isSame) line.hidden = isSame;
  if (isSame) return;
  $("bdi", line).textContent = at.toLocaleDateString(document.documentElement.lang, { weekday: "short" }) + " " + here;
});
tellClock();
onSwap(tellClock);
