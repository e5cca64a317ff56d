"""Sensors that send functions instead of values: when do they match, and how sure is that?"""
