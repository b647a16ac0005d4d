// A page that the browser kept must not show records after signing out. Without it: the headers alone forbid keeping it.
import { own } from "./session_end.js";

addEventListener("pageshow", (event) => event.persisted && own && location.reload());
