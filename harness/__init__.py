"""Fault scenarios for reinforcement-learning infrastructure: run, judge, report."""
