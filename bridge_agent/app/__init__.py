"""Composition: builds a Bridge or a home server from its settings, starts and stops it in order."""
