// The answer to one act may replace the region that another's is meant for: that goes into what stands there now.
// Without it: each act loads a page.
document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
  if (ctx.target?.isConnected === false) ctx.target = document.getElementById(ctx.target.id) || ctx.target;
});
