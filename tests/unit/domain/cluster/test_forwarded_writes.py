"""The signature of a call between servers."""

from commonplace.domain.cluster.forwarded_writes import signature_of


def test_it_is_the_hmac_of_the_body_with_the_secret() -> None:
    # The example of RFC 4231, test case 2.
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert signature_of(b"what do ya want for nothing?", "Jefe") == expected


def test_another_body_or_secret_has_another_one() -> None:
    assert len({signature_of(b"a", "s"), signature_of(b"b", "s"), signature_of(b"a", "t")}) == 3
