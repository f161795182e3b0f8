"""The migrations of the workers' store."""
