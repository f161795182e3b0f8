"""Audio files, surveyed and cut by a child process; only decoder.py is for the Bridge's own."""
