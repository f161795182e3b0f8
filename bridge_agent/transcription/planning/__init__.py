"""The plan of a book: which stretches of which files are transcribed one by one; pure, no file is touched."""
