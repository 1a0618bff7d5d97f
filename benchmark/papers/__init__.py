"""The figures and tables of papers, reproduced with our solvers beside theirs."""
