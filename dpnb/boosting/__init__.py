"""The private booster and its stages."""
