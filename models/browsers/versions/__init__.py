"""The rules of browsers' versions: which of them each recording's browser follows, and what another would have done."""
