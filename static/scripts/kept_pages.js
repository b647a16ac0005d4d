// A page that the browser kept must not show records after signing out. Without it: the headers alone forbid keeping it.
//
// A page that answers a form is in the history as the form's own page, where what was typed waits: Back and reload open that.
// Without it: they ask whether to send the form again.
import { body } from "./dom.js";
import { own } from "./session_end.js";

const page = new URL(body.dataset.page || location, location);
if (page.searchParams.has("as-saved")) page.searchParams.delete("as-saved");
if (body.dataset.page || page.href !== location.href) history.replaceState(history.state, "", page);
addEventListener("pageshow", (event) => event.persisted && own && location.reload());
