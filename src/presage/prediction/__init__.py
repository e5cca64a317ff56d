<<<<<<< HEAD
"""Sensors that send functions instead of values: when do they match, and how sure is that?"""
=======
"""The room of prediction: streams of functions, and answers from them."""
>>>>>>> h7b-1719
