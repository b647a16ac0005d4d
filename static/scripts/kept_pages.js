// A page that the browser kept must not show records after signing out. Without it: the headers alone forbid keeping it.
addEventListener("pageshow", (event) => event.persisted && own && location.reload());
