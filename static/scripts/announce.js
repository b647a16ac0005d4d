// What changes inside a region that stays is read out; a new region's own words are said there. Without it: each act
// loads a page, which is read from its top.
import { $, onSwap } from "./dom.js";

onSwap((region) => {
  const news = region.matches("[data-say]") ? region : $("[data-say]", region);
  if (news) $("#said").textContent = news.innerText;
});
