"""What other services tell the care service: how a call is known to be theirs, and what it brings."""
