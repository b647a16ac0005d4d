// What only conversations load. Without it: each works as its script says.
import "./conversations/mark_read.js";
import "./conversations/read_in_sight.js";
