// Beside doses and visits: what this device's clock shows, where it isn't the clinic's. Without it: the foot of each page
// names the clinic's zone.
import { $, each, onSwap } from "./dom.js";

const tellClock = () => each("[data-at]", (line) => {
  const at = new Date(line.dataset.at);
  const here = at.toTimeString().slice(0, 5);
  line.hidden = line.dataset.at.startsWith(here, 11);
  $("bdi", line).textContent = at.toLocaleDateString(document.documentElement.lang, { weekday: "short" }) + " " + here;
});
tellClock();
onSwap(tellClock);
