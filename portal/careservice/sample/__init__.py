"""Realistic synthetic people and records; none of them exists."""
