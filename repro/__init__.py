"""Finds where two runs differ, explains each difference, and gates on it."""
