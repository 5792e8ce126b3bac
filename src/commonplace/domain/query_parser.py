"""Parses a search into words, phrases, exclusions and operators.

Every query is valid. Text that is neither a quotation nor an exclusion is a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from commonplace.domain.addresses import fold
from commonplace.domain.languages import STOP_WORDS, language_of
from commonplace.domain.words.grams import WORD, is_whole, sought_grams, sought_tokens, without_grams
from commonplace.domain.words.scripts import accented_words, fold_text
from commonplace.domain.words.text_decoder import join_runs, readable_text

MAX_QUERY_CHARS = 2000
"""Maximum length of a query in characters, which limits its cost; the rest is cut."""

NO_WORDS = "The query has no letter or digit to search for."
"""The notice for a query without any term of the index."""

MAX_TITLE_CHARS = 200
"""Maximum length of a query in characters that is compared with titles."""

Analyze = Callable[[str], list[str]]
"""Splits folded text into the terms of the index."""

_QUOTATION_MARKS = "“”„‟«»‹›「」『』｢｣〝〞〟《》＂"  # noqa: RUF001 - those of many languages
_QUOTES = str.maketrans(dict.fromkeys(_QUOTATION_MARKS, '"'))
MAX_SHORT_QUERY = 3
"""Maximum number of words in addition to quoted phrases for the phrases to be required, and of an operand."""
CHARS_PER_WORD = 2
"""Number of characters of a script without blanks that count as a word."""
_PART = re.compile(r'(?P<sign>(?<!\S)-(?!-))?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')

_ONLY_NOT = re.compile(r'\s*NOT\s+("[^"\n]*"|[^\s"()-][^\s"()]*)\s*')
_OPERATORS = frozenset({"AND", "OR"})
_INNER_EDGES = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z][a-z])")
"""Word boundaries without a separator within a word: `utf8`, `getName`."""
MAX_MIXED = 32
"""Maximum number of words and grams in a word of several scripts that ranks as a whole; a longer one is a sentence."""
MAX_INNER_PARTS = 4
"""Maximum number of parts of a word with such boundaries; a word with more parts is a number or a key."""


@dataclass(frozen=True, slots=True)
class PhraseTerms:
    """Words and grams that must be adjacent."""

    words: tuple[str, ...]
    grams: tuple[str, ...] = ()
    """The grams that rank documents. One that is not whole is the prefix of longer grams."""
    accented: tuple[str, ...] = ()
    """The words that were typed with accents, as typed."""
    mixed: tuple[str, ...] = ()
    """Words and grams in their order; () without grams. A last gram that is not whole is a prefix."""

    @property
    def beginning(self) -> tuple[str, ...]:
        """`mixed` without a last gram that is not whole."""
        return self.mixed if not self.mixed or is_whole(self.mixed[-1]) else self.mixed[:-1]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed search. Repeated words occur as often as they were typed."""

    words: tuple[str, ...] = ()
    grams: tuple[str, ...] = ()
    accented: tuple[str, ...] = ()
    """Words that were typed with accents, as typed."""
    compounds: tuple[tuple[str, ...], ...] = ()
    """Parts of words that were typed without a space: `std::vector`, `foo_bar`."""
    parted: tuple[tuple[str, ...], ...] = ()
    """Words split at boundaries without a separator: `utf8`, which also matches `utf-8`; `getName`."""
    phrases: tuple[PhraseTerms, ...] = ()
    """Phrases that a document must contain."""
    optional_phrases: tuple[PhraseTerms, ...] = ()
    """Phrases that raise the rank of a document that contains them. Their words are also among the words."""
    excluded: tuple[PhraseTerms, ...] = ()
    unfinished: frozenset[str] = frozenset()
    """Words that match as prefixes: the last word, which may be incomplete, and `word*`."""
    exact: bool = False
    """Whether no word except `word*` matches as a prefix."""
    expression: Expression[PhraseTerms] | None = None
    """The expression that documents must match, for a search with operators; `words` are then used for ranking."""

    @property
    def has_terms(self) -> bool:
        """Whether the query has positive terms. Without any, all documents match except the excluded ones."""
        return bool(self.words or self.grams or self.phrases)

    @property
    def empty(self) -> bool:
        """Whether the query has no terms at all."""
        return not (self.has_terms or self.excluded)


def parse_query(text: str, analyze: Analyze, *, prefix: bool = True, demand: bool = True) -> ParsedQuery:
    """Parse a search.

    A quoted phrase is required in a short query. In a long question it is optional, because people quote messages and
    titles from memory, and a document without the phrase may be the answer.

    An unpaired quotation mark is ignored. A `-` excludes only at the beginning of a word or quotation that contains a
    letter or digit, so `- x`, `a-b`, `--` and `--flag` exclude nothing. `NOT x` alone excludes, too. A text of several
    lines has no exclusions and no operators, because it was probably pasted, and its `-` are list items and flags.

    Args:
        text: The search as typed.
        analyze: The index's tokenizer.
        prefix: Whether the last word may also match as a prefix.
        demand: Whether phrases may be required, and operators be heeded; if false, all phrases are optional.
    """
    straight = _straight(text)
    pasted = len(straight.strip().splitlines()) > 1
    joined = has_operators(straight)
    expression = _expression(straight, analyze) if joined and demand and not pasted else None
    if expression is not None:
        return _with_operators(expression, analyze, straight)
    reading = _Reading(analyze, straight if prefix else "")
    for part, is_phrase, is_excluded in _parts(straight, joined=joined):
        reading.take(part, is_phrase=is_phrase, is_excluded=is_excluded and not pasted)
    return reading.query(exact=not prefix, demand=demand)


def quotations(text: str) -> list[str]:
    """The quotations of a query as they were typed, except those that are excluded."""
    straight = _straight(text)
    parts = _parts(straight, joined=has_operators(straight))
    return [part for part, is_phrase, is_excluded in parts if is_phrase and not is_excluded]


def operands(text: str) -> Expression[str] | None:
    """The expression of a query with operators, its terms as they were typed without quotation marks; None without."""
    expression = read_expression(_straight(text))
    return changed(expression, lambda term: term.strip('"')) if expression else None


def exclusion_notice(text: str, question: ParsedQuery) -> str:
    """The notice for a query that only excludes pages; "" for any other query."""
    if question.has_terms or not question.excluded or question.expression is not None:
        return ""
    straight = _straight(text)
    names = [repr(part) for part, _, is_excluded in _parts(straight, joined=has_operators(straight)) if is_excluded]
    return f"The query only excludes: it asks for the pages without {' and without '.join(names[:MAX_SHORT_QUERY])}."


def _straight(text: str) -> str:
    """A query with straight, balanced quotation marks, and `-word` for a query that is only `NOT word`."""
    straight = text[:MAX_QUERY_CHARS].translate(_QUOTES)
    if straight.count('"') % 2:
        head, _, tail = straight.rpartition('"')
        straight = f"{head} {tail}"
    only = _ONLY_NOT.fullmatch(straight)
    return f"-{only[1]}" if only and has_operators(straight) else straight


def asked_title(text: str) -> str:
    """The query as a title: without surrounding quotation marks, and with single blanks; "" if it is too long."""
    title = " ".join(text[: MAX_TITLE_CHARS + 1].translate(_QUOTES).strip('" \t\r\n').split())
    return title if len(text) <= MAX_TITLE_CHARS else ""


def is_title(title: str, names: Iterable[str]) -> bool:
    """Whether one of a document's names equals the title, regardless of case, width and Unicode normalization."""
    wanted_title = fold(title)
    return any(fold(" ".join(name.split())) == wanted_title for name in names)


class _Reading:
    """The state of the parser.

    Args:
        analyze: The index's tokenizer.
        unfinished: The query, if its last word may be unfinished; otherwise "".
    """

    def __init__(self, analyze: Analyze, unfinished: str) -> None:
        self._analyze = analyze
        self._unfinished = unfinished
        self._words: list[PhraseTerms] = []
        self._parted: list[tuple[str, ...]] = []
        self._phrases: list[PhraseTerms] = []
        self._excluded: list[PhraseTerms] = []
        self._prefixes: set[str] = set()

    def take(self, part: str, *, is_phrase: bool, is_excluded: bool) -> None:
        """Add a word or a phrase."""
        terms = _phrase(part, self._analyze, quoted=is_phrase)
        if is_excluded:
            self._excluded.append(terms)
        elif is_phrase:
            self._phrases.append(terms)
        else:
            self._words.append(terms)
            self._parted += _taken_apart(part, self._analyze)
            if part[-1] == "*" or (part[-1].isalnum() and self._unfinished.endswith(part)):
                self._prefixes.update(terms.words[-1:])

    def query(self, *, exact: bool, demand: bool) -> ParsedQuery:
        """The parsed query."""
        size = sum(len(terms.words) + len(terms.grams) // CHARS_PER_WORD for terms in self._words)
        demanded = demand and size <= MAX_SHORT_QUERY
        said = self._words if demanded else [*self._words, *self._phrases]
        return ParsedQuery(
            words=tuple(word for terms in said for word in terms.words),
            grams=tuple(gram for terms in said for gram in terms.grams),
            accented=tuple(word for terms in said for word in terms.accented),
            compounds=_compounds(self._words),
            parted=tuple(self._parted),
            phrases=tuple(self._phrases) if demanded else (),
            optional_phrases=(*_mixed(self._words), *(() if demanded else self._phrases)),
            excluded=tuple(self._excluded),
            unfinished=frozenset(self._prefixes),
            exact=exact,
        )


def _expression(text: str, analyze: Analyze) -> Expression[PhraseTerms] | None:
    """The expression of a search with operators; None for any other search."""
    if not any(operator in text for operator in (" AND ", " OR ", " NOT ")):
        return None
    language = language_of(set(_phrase(text, analyze).words), lambda _: 0.0)

    def is_question(words: Sequence[str]) -> bool:
        plain = (analyze(fold_text(word)) for word in words)
        return len(words) > MAX_SHORT_QUERY or any(parts and STOP_WORDS[language].issuperset(parts) for parts in plain)

    written = read_expression(text, is_question)
    if written is None:
        return None
    terms = changed(written, lambda term: _phrase(term.strip('"'), analyze, quoted='"' in term))
    sound = all(term.words or term.grams for side in (False, True) for term in leaves(terms, negative=side))
    return terms if sound else None


def _with_operators(expression: Expression[PhraseTerms], analyze: Analyze, text: str) -> ParsedQuery:
    """The parsed query of a search with operators. Its positive terms rank the matching documents."""
    terms = list(leaves(expression))
    return ParsedQuery(
        words=tuple(word for term in terms for word in term.words),
        grams=tuple(gram for term in terms for gram in term.grams),
        accented=tuple(word for term in terms for word in term.accented),
        compounds=_compounds(terms),
        optional_phrases=_mixed(terms),
        parted=tuple(_taken_apart(text, analyze)),
        exact=True,
        expression=expression,
    )


def _compounds(terms: Iterable[PhraseTerms]) -> tuple[tuple[str, ...], ...]:
    return tuple(term.words for term in terms if len(term.words) > 1 and not term.grams)


def _mixed(terms: Iterable[PhraseTerms]) -> tuple[PhraseTerms, ...]:
    """The terms of two kinds of scripts that were typed without a blank: `第3章`, `Python编写`."""
    return tuple(term for term in terms if term.words and term.grams and len(term.mixed) <= MAX_MIXED)


def plain_query(text: str) -> str:
    """A query for the words of a text, without its quotations, exclusions and operators."""
    words = text.translate(_QUOTES).replace('"', " ").split()
    bare = (word.lstrip("-") for word in words)
    return " ".join(word.lower() if word in OPERATORS else word for word in bare if any(map(str.isalnum, word)))


def count_each(items: tuple[str, ...]) -> dict[str, int]:
    """Number of occurrences of each item, in the order of first occurrence."""
    return dict(Counter(items))


def _taken_apart(text: str, analyze: Analyze) -> list[tuple[str, ...]]:
    """The parts of each word that has boundaries without a separator."""
    parts: list[tuple[str, ...]] = []
    for run in WORD.findall(text):
        inner = _INNER_EDGES.sub(" ", run)
        words = analyze(without_grams(fold_text(inner))) if inner != run else ()
        if 1 < len(words) <= MAX_INNER_PARTS:
            parts.append(tuple(words))
    return parts


def _phrase(text: str, analyze: Analyze, *, quoted: bool = False) -> PhraseTerms:
    """The terms of a word, or of a quotation, which may have been copied with its markup."""
    folded = fold_text(readable_text(text, tags=False).text if quoted else join_runs(text))
    plain = without_grams(folded)
    sought = tuple(sought_grams(folded))
    mixed = tuple(sought_tokens(folded, analyze)) if sought else ()
    return PhraseTerms(tuple(analyze(plain)), sought, tuple(accented_words(plain)), mixed)


def _parts(text: str, *, joined: bool) -> Iterator[tuple[str, bool, bool]]:
    """Text, whether it was quoted, and whether it is excluded, of every part with a letter or digit.

    If the text may be `joined` by operators, `AND` and `OR` after other words are omitted: words are combined by OR.
    """
    for match in _PART.finditer(text):
        phrase, word = match["phrase"], match["word"]
        body = word if phrase is None else phrase
        if any(c.isalnum() for c in body) and not (joined and word in _OPERATORS and match.start()):
            yield body, phrase is not None, bool(match["sign"])


# Searches with operators: `AND`, `OR` and `NOT` in capitals between words.
#
# Words without an operator between them form a group and are all required. Such a group binds most closely, then
# `NOT`, `AND` and `OR`, as in the full-text queries of SQLite
# (https://www.sqlite.org/fts5.html#fts5_boolean_operators). Parentheses group; unbalanced parentheses count as blanks.
# An operator that is not between two operands is a word. So is every `AND`, `OR` and `NOT` in a text in capitals
# (`TERMS AND CONDITIONS`), and in a question.


T = TypeVar("T")
U = TypeVar("U")

_TOKEN = re.compile(r'-?"[^"]*"|[()]|[^\s"()]+')
OPERATORS = ("AND", "OR", "NOT")
MAX_DEPTH = 20
"""Maximum number of nested groups; deeper parentheses count as blanks."""


@dataclass(frozen=True, slots=True)
class Leaf(Generic[T]):
    """One word or quotation."""

    term: T


@dataclass(frozen=True, slots=True)
class Junction(Generic[T]):
    """Several operands: all must match, any must match, or the first must match and none of the others."""

    kind: Literal["all", "any", "but"]
    parts: tuple[Expression[T], ...]


Expression: TypeAlias = "Leaf[T] | Junction[T]"


def has_operators(text: str) -> bool:
    """Whether `AND`, `OR` and `NOT` may be operators in a text.

    A letter besides them must be lower-case, or all of them must be of scripts without case.
    """
    letters = "".join(word for word in text.split() if word.strip("()") not in OPERATORS)
    return letters.lower() == letters.upper() or not letters.isupper()


def read_expression(
    text: str, is_question: Callable[[Sequence[str]], bool] = lambda _: False
) -> Expression[str] | None:
    """The expression that a search contains; None for a search without an operator between two operands.

    Args:
        text: The search, with straight, balanced quotation marks. The terms in the result are as written; quotations
            include their marks.
        is_question: Whether the unquoted words of an operand belong to a question, which has no expression.
    """
    tokens = [part for part in _TOKEN.findall(text) if any(map(str.isalnum, part)) or part in {"(", ")"}]
    tokens = _grouped(tokens)
    at = frozenset(_operators(tokens))
    if not at or any(is_question(words) for words in _operands(tokens, at)):
        return None
    return _Reader(tokens, at).expression()


def leaves(expression: Expression[T], *, negative: bool = False) -> Iterator[T]:
    """The terms that a document must or may contain; with `negative`, those that it must not contain."""
    if isinstance(expression, Leaf):
        if not negative:
            yield expression.term
        return
    for number, part in enumerate(expression.parts):
        excluded = expression.kind == "but" and number > 0
        yield from leaves(part, negative=negative != excluded)


def changed(expression: Expression[T], change: Callable[[T], U]) -> Expression[U]:
    """The expression with other terms."""
    if isinstance(expression, Leaf):
        return Leaf(change(expression.term))
    return Junction(expression.kind, tuple(changed(part, change) for part in expression.parts))


def holds(expression: Expression[T], contains: Callable[[T], bool]) -> bool:
    """Whether a document matches.

    Args:
        expression: The expression.
        contains: Whether the document contains a term.
    """
    if isinstance(expression, Leaf):
        return contains(expression.term)
    first, *others = expression.parts
    if expression.kind == "but":
        return holds(first, contains) and not any(holds(other_expression, contains) for other_expression in others)
    found_flags = (holds(part, contains) for part in expression.parts)
    return all(found_flags) if expression.kind == "all" else any(found_flags)


def _grouped(tokens: list[str]) -> list[str]:
    """The tokens without parentheses that are unbalanced, empty or too deep."""
    depth = deepest = 0
    for part in tokens:
        depth += (part == "(") - (part == ")")
        deepest = max(deepest, depth)
        if depth < 0:
            break
    sound = depth == 0 and deepest <= MAX_DEPTH and "()" not in "".join(tokens)
    return tokens if sound else [part for part in tokens if part not in {"(", ")"}]


def _operators(tokens: list[str]) -> Iterator[int]:
    """Positions of the operators; `AND NOT` is one."""
    before = False
    """Whether an operand ends immediately before the current token."""
    for at, part in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else ")"
        joins = part == "AND" and following == "NOT" and at + 2 < len(tokens)
        if before and part in OPERATORS and (joins or following not in {")", *OPERATORS}):
            yield at
            before = joins
        else:
            before = part != "("


def _operands(tokens: Sequence[str], operators: frozenset[int]) -> list[list[str]]:
    """The unquoted words of each operand."""
    operands: list[list[str]] = [[]]
    for at, part in enumerate(tokens):
        if at in operators or part in {"(", ")"}:
            operands.append([])
        elif not part.startswith(('"', "-")):
            operands[-1].append(part)
    return operands


@dataclass(slots=True)
class _Reader:
    """Reads tokens from left to right."""

    tokens: list[str]
    operators: frozenset[int]
    at: int = 0

    def expression(self) -> Expression[str]:
        """Read operands separated by `OR`."""
        return self._joined("any", "OR", self._conjunction)

    def _conjunction(self) -> Expression[str]:
        return self._joined("all", "AND", self._exclusion)

    def _exclusion(self) -> Expression[str]:
        return self._joined("but", "NOT", self._group)

    def _joined(
        self, kind: Literal["all", "any", "but"], operator: str, operand: Callable[[], Expression[str]]
    ) -> Expression[str]:
        parts = [operand()]
        while self._is_operator(operator):
            self.at += 1
            parts.append(operand())
        return parts[0] if len(parts) == 1 else Junction(kind, tuple(parts))

    def _is_operator(self, operator: str) -> bool:
        if self.at not in self.operators:
            return False
        if self.at + 1 in self.operators:  # `AND NOT`
            if operator != "NOT":
                return False
            self.at += 1
        return self.tokens[self.at] == operator

    def _group(self) -> Expression[str]:
        """Read operands without an operator between them."""
        expressions: list[Expression[str]] = []
        unwanted: list[Expression[str]] = []
        while self.at < len(self.tokens) and self.at not in self.operators and self.tokens[self.at] != ")":
            part = self.tokens[self.at]
            self.at += 1
            if part == "(":
                expressions.append(self.expression())
                self.at += 1
            elif part.startswith("-") and (expressions or unwanted):
                unwanted.append(Leaf(part.removeprefix("-")))
            else:
                expressions.append(Leaf(part.removeprefix("-") if not expressions and len(part) > 1 else part))
        whole = expressions[0] if len(expressions) == 1 else Junction("all", tuple(expressions))
        return Junction("but", (whole, *unwanted)) if unwanted else whole
