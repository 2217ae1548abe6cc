"""A small, correct and fast implementation of what RL trainers build on, in torchrl's vocabulary."""
