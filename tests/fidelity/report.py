"""What a replay of all cassettes came to: figures per source and product, classes, what was not compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.fidelity.cassettes import SOURCES, cassettes
from tests.fidelity.deviations import DEVIATIONS, classify
from tests.fidelity.replay import Outcome, Replayed, replay

# The least share of exchanges on served routes that must agree, and of state words in those that do.
LEAST: Final = 0.98


@dataclass(frozen=True)
class Report:
    replays: Sequence[Replayed] = field(repr=False)

    @property
    def outcomes(self) -> list[Outcome]:
        return [outcome for each in self.replays for outcome in each.outcomes]

    def of(self, *verdicts: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.verdict in verdicts]

    @property
    def agreement(self) -> float:
        """The share of exchanges on served routes that agree; those without a body are in neither number."""
        return len(self.of("agrees")) / len(self.of("agrees", "differs"))

    @property
    def words(self) -> tuple[int, int]:
        """(state words that are the recorded ones, all that were compared)."""
        compared = self.of("agrees", "differs")
        return sum(outcome.words_same for outcome in compared), sum(outcome.words for outcome in compared)

    def failures(self) -> list[str]:
        """What is not as it must be; empty is good."""
        counts, unexplained = classify(self.of("differs"))
        same, words = self.words
        found = [
            f"class {item.name!r}: {counts[item.name]} exchanges, at most {item.bound} allowed"
            for item in DEVIATIONS
            if counts[item.name] > item.bound
        ]
        found += [f"unexplained: {_place(outcome)}: {'; '.join(outcome.differences)}" for outcome in unexplained]
        found += [f"crash: {text.strip().splitlines()[-1]}" for each in self.replays for text in each.crashes]
        if self.agreement < LEAST:
            found.append(f"{self.agreement:.2%} of the exchanges agree, {LEAST:.0%} are needed")
        if same < LEAST * words:
            found.append(f"{same} of {words} state words are the recorded ones, {LEAST:.0%} are needed")
        return found

    def lines(self) -> Iterator[str]:
        yield from self._products()
        yield ""
        yield from self._classes()
        yield ""
        yield from self._apart()

    def _products(self) -> Iterator[str]:
        yield f"{'source':10}{'product':27}{'recorded':>9}{'compared':>9}{'agree':>7}{'':>8}"
        rows = Counter((each.cassette.source, each.exchange.product) for each in self.outcomes)
        for source, product in sorted(rows, key=lambda row: (SOURCES.index(row[0]), row[1])):
            mine = [
                each for each in self.outcomes if (each.cassette.source, each.exchange.product) == (source, product)
            ]
            yield _row(source, product, mine)
        yield _row("all", "", self.outcomes)
        same, words = self.words
        yield f"words of state, status and their details: {same} of {words} as recorded ({same / words:.2%})"

    def _classes(self) -> Iterator[str]:
        counts, unexplained = classify(self.of("differs"))
        yield f"{'deviation':48}{'count':>6}{'bound':>6}  reason"
        for item in DEVIATIONS:
            yield f"{item.name:48}{counts[item.name]:6}{item.bound:6}  {item.reason}"
        yield f"{'unexplained':48}{len(unexplained):6}{0:6}"

    def _apart(self) -> Iterator[str]:
        lost = Counter(f"{each.exchange.method} {each.route}" for each in self.of("body lost"))
        yield f"not compared, the recording lacks the body that was sent: {lost.total()}"
        yield from (f"  {count:4} {name}" for name, count in lost.most_common())
        unserved = Counter(f"{each.exchange.method} {_template(each.route)}" for each in self.of("not served"))
        yield f"not compared, the simulator does not serve the route (501): {unserved.total()}"
        yield from (f"  {count:4} {name}" for name, count in unserved.most_common())
        before = Counter(kind for each in self.replays for kind in each.before)
        elsewhere = Counter(kind for each in self.replays for kind in each.elsewhere)
        yield f"put into a world, it was there before: {_counted(before)}"
        yield f"put into a world, made by a call that was not replayed: {_counted(elsewhere)}"

    def summary(self) -> str:
        compared = self.of("agrees", "differs")
        return (
            f"fidelity: {len(self.outcomes)} recorded exchanges in {len(self.replays)} cassettes; "
            f"{len(self.of('agrees'))} of {len(compared)} on served routes agree ({self.agreement:.2%}), "
            f"{len(self.of('not served'))} on other routes, {len(self.of('body lost'))} without their body"
        )


def run() -> Report:
    return Report([replay(cassette) for source in SOURCES for cassette in cassettes(source)])


def _row(source: str, product: str, outcomes: Sequence[Outcome]) -> str:
    agree = sum(each.verdict == "agrees" for each in outcomes)
    compared = agree + sum(each.verdict == "differs" for each in outcomes)
    share = f"{agree / compared:.1%}" if compared else "-"
    return f"{source:10}{product:27}{len(outcomes):9}{compared:9}{agree:7}{share:>8}"


def _place(outcome: Outcome) -> str:
    exchange = outcome.exchange
    return f"{outcome.cassette.source} {outcome.cassette.name} {exchange.seq} {exchange.method} {exchange.path}"


def _template(path: str) -> str:
    path = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "{id}", path)
    path = re.sub(r"user-data/.+", "user-data/{key}", path)
    return re.sub(r"(zones|regions)/[a-z0-9-]+", r"\1/{place}", path)


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "nothing"
