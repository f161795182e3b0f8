"""Speech engines: child processes that hear PCM and answer words, behind one small protocol."""
