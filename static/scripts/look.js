// "portal:look" says that someone is looking (the bell listens): on coming back, and each 30 s while in sight. Without
// it: the bell tells what it knew when the page was loaded. A hidden tab has no timer, so nothing wakes it. Once the session has
// ended there is nothing left to look at.
import { $ } from "./dom.js";

const look = () => $("#bell") && document.dispatchEvent(new Event("portal:look"));
let looking;
const watch = () => {
  clearInterval(looking);
  looking = document.hidden ? 0 : setInterval(look, 30000);
};
document.addEventListener("visibilitychange", () => (watch(), document.hidden || look()));
watch();
