// A page that the browser kept must not show records after signing out. Without it: the headers alone forbid keeping it.
addEventListener("pageshow", (event) => {
  if (event.persisted && "signedIn" in body.dataset) location.reload();
});
