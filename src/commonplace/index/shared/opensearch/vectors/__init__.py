"""The vectors of bases in a cluster: chunks of pages, vectors by workers, and claims of workers."""
