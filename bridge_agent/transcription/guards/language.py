"""Language: votes of samples from all over the book, and its metadata. An intro alone decides nothing."""

from collections.abc import Mapping, Sequence

from bridge_agent.transcription.model import Value

_SURE_SHARE = 0.6
_OVERRULE_SHARE = 0.8
_PRIOR_VOTE = 1.0


class Vote(Value, frozen=True):
    """The language of a book, its share of the votes, and whether that is sure (else `unsure_language`)."""

    language: str
    share: float
    sure: bool


def vote(samples: Sequence[Mapping[str, float]], prior: str | None = None) -> Vote:
    """Return the language most samples speak for; one without speech (an empty mapping) has no vote.

    `prior`, the language of the book's metadata, has one vote too, and is overruled only by four
    fifths of the samples' votes. Ties go to the prior, then by name.
    """
    heard = [sample for sample in samples if sample]
    votes: dict[str, float] = {}
    for sample in heard:
        total = sum(sample.values())
        for language, probability in sample.items():
            votes[language] = votes.get(language, 0.0) + probability / total
    if not votes:
        return Vote(language=prior or "en", share=1.0 if prior else 0.0, sure=False)
    shares = {language: count / len(heard) for language, count in votes.items()}
    if prior is not None:
        best = max(shares, key=lambda each: (shares[each], each == prior, each))
        if best != prior and shares[best] < _OVERRULE_SHARE:
            # The samples disagree: the metadata's voice counts among them.
            shares[prior] = shares.get(prior, 0.0) + _PRIOR_VOTE / len(heard)
    best = max(shares, key=lambda each: (shares[each], each == prior, each))
    share = min(1.0, shares[best])
    overruled = prior is not None and best != prior and share < _OVERRULE_SHARE
    return Vote(language=best, share=round(share, 3), sure=share >= _SURE_SHARE and not overruled)
