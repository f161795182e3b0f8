"""Speech models on this machine: by name, downloaded once, or by folder."""
