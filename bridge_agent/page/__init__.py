"""The Bridge's own page: its gates, its JSON API, its pages, and the events that keep them live.

`app.build(parts)` makes the application before anything slow is open; until `app.open_to_users` says that
the rooms below are ready, everything but `/healthz` and the static files answers 503 “starting” (law 9).
"""
