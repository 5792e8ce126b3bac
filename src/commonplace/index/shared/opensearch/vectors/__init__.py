"""The vectors of bases in a cluster: chunks of pages, the vectors that workers add, and the claims of workers."""
