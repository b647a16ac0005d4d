"""Pictures drawn from records as inline SVG (SVG 2): pure functions, the same facts give the same markup.

Colour, weight and type come from the sheet by class, since inline styles are not allowed. Every drawing carries a
title and a description, and stands beside a table of the same facts.
"""
