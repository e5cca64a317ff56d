"""The room of prediction: streams of functions, and answers from them."""
