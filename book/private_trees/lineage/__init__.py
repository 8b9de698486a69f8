"""The older methods of the 2016 paper's Table 1."""
