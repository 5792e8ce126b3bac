"""A folder on disk as a store: reads, and a write from its draft to the acknowledgement.

In the order of a write: `folder_store`, `transaction_draft`, `retention`, `write_group`, `transaction_writer`.
Beside it: `recovery` of interrupted writes, `writer_lock` between processes, `publisher` of explicit commits.
"""
