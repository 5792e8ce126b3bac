"""Quality of search: judged question sets, evidence within a budget, and questions as typed."""
