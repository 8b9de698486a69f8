"""Numbers that are the same for all data and that no stored run chose, each with its unit and its reason.

They are public and stand here before a record is read, so that none is a release. Another value is as private, and
gives other models. The booster's :class:`~dpnb.boosting.plans.Settings` are apart: a run compares them with others.
"""

from __future__ import annotations

# Trees
MOST_NODES = 2**20  # nodes of a tree of two classes: a forest of 25 such trees fills a gigabyte
STOP_SCALES = 3.0  # scales of noise: fewer records of other classes than that are taken for none
LEAST_ERROR = 0.05  # share of weights: whatever the noise makes of a small error, α is at most ½ ln 19

# Cuts of attributes
FINEST_POWER = -4  # of ten, times a width: the nearest public cut to an end, where skewed values crowd
EMPTY_DEVIATIONS = 3.0  # standard deviations of a bin's noise, which an empty bin passes once in 740

# Logistic regression
LOGISTIC_COUNTS = 0.1  # share of ρ for bins and the number of records: most goes to gradients

# Boosting with δ
ROUNDS = (20, 30, 45, 70, 100, 150)  # stumps for a problem, each for 1.5 times the records times ε
# Records times ε from which on there are more stumps, and more groups of attributes.
MORE_STUMPS = tuple(400 * 1.5**i for i in range(1, len(ROUNDS)))
MORE_GROUPS = tuple(900.0 * 4**i for i in range(4))
FIRST_STEP = 2.45  # over the root of the number of stumps: .2 for 150 of them
MOST_CELLS_OF_A_GROUP = 128  # cells: noise is as large in each, so larger groups are not offered
OF_COUNTS = 0.02  # share of ρ for counts, which only lay cuts and tell how much is known
OF_CURVATURES = 0.04  # share of ρ for curvatures, which are released once
CROWDED = 1 / 16  # share of the records that makes a bin crowded, so that it is halved
SHRINKS_TO = 0.2  # last step over the first: steps shrink linearly, so that the last noise counts least
RESOLUTIONS = (256, 2048)  # bins of a fine attribute: both are offered, as the better is not known

# Boosting with pure ε
FEWEST_PURELY, MOST_PURELY = 5.0, 100.0  # stumps for a problem of two classes
A_ROOT_PURELY = 0.26  # stumps for each root of records times ε: the more there are, the less of ε has each
FIRST_STEP_PURELY, LARGEST_STEP_PURELY = 2.7, 0.6  # the first over the root of the number of stumps
OF_NUMBER = 0.02  # share of ε for the number of records, which needs no more to be known well
OF_PRODUCTS = 0.25  # share of the rounds in which products of two attributes are candidates: the last ones
PRODUCTS_FROM = 3000.0  # records times ε: below that products are too many to choose from
PUBLICLY = {"uniform": 3, "geometric": 3}  # cuts of an attribute in a product, for the same reason

# Boosting of a number
STEP_OF_A_NUMBER = 0.4  # of the step for classes, in widths of the loss
WIDTHS = 1.25  # width of the loss over the spread of residuals: larger ones are cut
LEAST_WIDTH = (
    2.0**-12
)  # width of the loss in halves of the target's range, where residuals are next to nothing
# Shares of ε, or of ρ, for sums over all records: the first middle, from which all else starts; each further middle
# and each width; each of three for the slope; the level; and the error.
OF_MIDDLE, OF_A_WIDTH, OF_SLOPE, OF_LEVEL, OF_ERROR = 0.04, 0.006, 0.006, 0.014, 0.014
# How large what these sums estimate usually is, before noise hides it: the first middle, in halves of the range; a
# further one, in widths of the loss; the slope of numbers over scores, minus 1; and the level, in spreads of residuals.
OFF_RANGE, OFF_MIDDLE, OFF_SLOPE, OFF_LEVEL = 0.5, 0.1, 0.2, 0.2
NARROWED = 3  # how often the loss is narrowed before the stumps; with δ once more before the sweeps
# Slope, level and error: spreads at which distances are cut where records are few; where they are many, distances are
# cut so far out that noise moves a mean by this share of a spread, or nowhere.
FARTHEST, NOISE_OF_A_MEAN = 3.0, 0.04
