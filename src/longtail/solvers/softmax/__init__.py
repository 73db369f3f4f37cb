"""One softmax over many classes."""
