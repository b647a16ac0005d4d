"""What a clinic's API answers, seen from outside: which members come, what can't be understood, how long it takes."""
