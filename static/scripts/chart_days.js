// A finger drawn across a chart reads out its days one after another; arrow keys go between them. Without it: one taps a day.
import { body } from "./dom.js";

const focus = (day) => day?.focus({ preventScroll: true });
body.addEventListener("pointermove", ({ target, pointerType, clientX, clientY }) => {
  if (pointerType !== "mouse" && target.closest(".chart-days")) focus(document.elementFromPoint(clientX, clientY)?.closest(".chart-day"));
});
body.addEventListener("keydown", (event) => {
  const day = event.target.closest(".chart-day");
  const aside = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" };
  if (!day || !aside[event.key]) return;
  event.preventDefault();
  focus(day[document.dir === "rtl" ? aside[event.key === "ArrowLeft" ? "ArrowRight" : "ArrowLeft"] : aside[event.key]]);
});
