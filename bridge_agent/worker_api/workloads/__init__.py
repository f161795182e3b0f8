"""Workloads: what an uploaded file may be for; each with its schema, its way to be split and its reducer."""
