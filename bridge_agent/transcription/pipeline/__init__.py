"""From a book to its parts' results: recordings, their tasks, who claims them, and what is told to whom.

The chain of a task, which no P-number fixes (P-071), is so: `created` (planned) → `converted` (its audio is
cut and lies on disk with its checksum) → `done` (its result is kept by what it follows from). A step may
judge a part for good (`failed`); a part that is claimed once too often is `dead`, and that is written by the
claim alone; parts of a recording that nobody wants any more, or that failed elsewhere, are `cancelled`.

What the pipeline promises besides the P-numbers, each with a test: a step that is cancelled midway gives its
claim back, the try not counted and the attempt kept; a run that ends, however it ends, leaves no decoder
reading, no engine computing and nobody holding a part of it; cut audio goes as soon as its part is done.
"""
