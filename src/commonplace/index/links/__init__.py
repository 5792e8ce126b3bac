"""Links as readers ask for them: queries of the catalogue, and the sentences around links."""
