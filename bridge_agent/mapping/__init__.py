"""Where this machine sees the libraries: mappings, their checks, and the finding of files under them.

A library's root is a path of the server's world. A mapping says where this machine sees it; without one, the
server's own path counts. Whatever touches a library's folder runs in a thread with a time limit, since a dead
network mount answers nothing at all.
"""
