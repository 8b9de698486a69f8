"""The parts that leave the house: the card of a model, its pictures, and the command line."""
