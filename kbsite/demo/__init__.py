"""The sample documents of `make demo` and what is expected of them."""
