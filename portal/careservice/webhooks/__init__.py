"""Webhooks from other services: their signatures and their payloads."""
