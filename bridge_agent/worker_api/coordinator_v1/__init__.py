"""The wire of the public coordinator's workers, at the listener's root.

Its forms are in here alone: error texts, request ids, case-insensitive names, unknown members refused, plain
404s. What it serves are uploaded tables' tasks, and the parts of audio that the service leases.

Kept as the original has it, each with a test that says so: a token counts without “Bearer ” too; what is not
said is a 409 and not a 400; the id that a claim was made with holds it as it was written; of two partials the
first stays; a result said again is taken from anybody, its sum not looked at; a task's bytes are anybody's; a
failure is not retryable unless it says so; a failed reduction still answers 200 to the last result;
`max_rows` among the parameters limits nothing; a query by id may be split; inputs are relative addresses.

Bettered on purpose, without a change that a worker could trip over: a heartbeat and a partial never meet a
5xx, for which work would be thrown away; wrong tokens beyond twenty in ten seconds are 429; registrations
outlive a restart; a failed task rests before it is handed out again (204 is always legal); nothing is kept of
an upload that is refused for what follows its file; too large is 413 and no 500; no input leads to another
server; results are put together after a restart too; what a wall clock does ends no lease. `/metrics` and the
exchange of worker keys are not part of it.
"""
