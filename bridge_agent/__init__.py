"""The Bridge: an agent beside your audiobooks, the home server it pairs with, the workers that help it.

```
 admin ─▶ console ┐                                       ┌─▶ OS keyring / sealed file
                  ▼           HTTP, bearer token          │
           ┌─ home server ◀─ heartbeat, claim, report ─ Bridge ──▶ its page
           │ bridge_jobs     PUT artifacts                │ server_jobs ─▶ lanes ─▶ handlers
           │ (intent + lease)                             │                 │ verify   │ transcribe
           └─ library index ─ GET book ─────────────────▶ │                 ▼          ▼
                                                          │         stat the mount  pipeline: a task a part
                                                          │                            ▲    ▲        ▲
                                                          │          engine children ──┘    │        │
                                                          └─ worker listener: /worker/v1 ─┘  /tasks ─ machines
```

One fact flows one way: the server owns what was asked for and who holds it; the Bridge owns what it did; a
worker owns nothing beyond the part in its hands. Every arrow that hands work over is a lease with an attempt.

Rooms, each above the ones that it may call (import-linter holds it):

    cli            the commands, what each is called and takes
    app            composition: builds and runs a Bridge, a home server, a worker or the demo
    page           the Bridge's own page          home    the home server: API, jobs, library index, console
    worker         `bridge-agent worker`: the other end of the coordinator's wire, around the same engines
    worker_api     what other machines call: two wires over one set of use cases, tokens, uploads
    doctor         what keeps a Bridge from working
    jobs           server_jobs, lanes, runner, reporter, outbox, handlers
    mapping        where this machine sees each library
    link           the Bridge as a client: pairing, heartbeat, claim, report
    transcription  audio, plans, parts and their leases, engines, assembly, transcripts and their search
    vault          the token: sealed, in the OS keyring or a file
    web            what page and home share: errors, gates, events, listening, rendering
    store          one SQLite file: whole units on one writer, migrations, the data folder's lock
    protocol       the wires as types, and the pure rules of leases
    settings       flag > environment > file > default
    base           clock, tasks, threads, children, files, logs: no word of the domain

`home` and the Bridge's rooms meet only in `protocol` and what lies below. Time, chance, network and store
come in through seams (`base.clock`, the link's client, `store.InlineDatabase`).
"""

__version__ = "0.1.0"
