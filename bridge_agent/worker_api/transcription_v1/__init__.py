"""The wire `/worker/v1`: how workers of a public transcription project speak, over the one service.

What follows is kept as their own server has it, each with a test that says so: claims need no body, and any
content type but JSON counts as none; whatever is not the caller's is 404 `job_not_found`; absent values are
left out; `bucket` is taken by every claim, and all but `"newest"` mean the oldest; a result in twice is 404;
an empty transcript completes its part; `/claim` finds what the caller has ready before anything new.

Bettered on purpose, without a change that their worker could see: bodies that are no JSON are refused in JSON
and after the token; silent downloads and parts that their worker left behind come back; a failed part waits
before it is handed out again (204 is always legal); a part whose work was broken off again and again is dead
after its tries, though `attempts` stays as it is; a verdict for good is one worker's, where others are there;
refusals beyond twenty in ten seconds are 429. Every part has a `sourceUrl`, so `/claim` hands out any part.
"""
