"""Git remotes of tests: slow ones, and what must never reach any."""
