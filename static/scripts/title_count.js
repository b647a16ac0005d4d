// The tab's title tells the bell's count, as it is now. Without it: the count as it was when the page was loaded.
import { $ } from "./dom.js";

document.addEventListener("htmx:after:swap", () => {
  const unread = $("#bell .badge")?.firstChild.data.trim();
  document.title = (unread ? `(${unread}) ` : "") + document.title.replace(/^\(\d+\+?\) /, "");
});
