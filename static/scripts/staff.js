// What only pages for staff load, in this order. Without it: each works as its script says.
import "./staff/find.js";
import "./staff/plan_dates.js";
import "./staff/record_beside.js";
import "./staff/shortcuts.js";
