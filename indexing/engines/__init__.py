"""Ways to run many workers on the pool `bulk` until nothing is due there. They know nothing of runs: the orders do."""
