# SPDX-License-Identifier: Apache-2.0
"""The privacy loss distribution of a table for Google's dp_accounting, to compose it with other mechanisms there.

    total = loss_distribution(table).self_compose(12).compose(from_gaussian_mechanism(4))
    total.get_epsilon_for_delta(1e-6)

It is pessimistic: for every epsilon its delta is not below the table's, over all shifts up to the sensitivity in both
directions. What dp_accounting makes of it is computed in floating point, with errors that it does not bound.
``noisewright.account`` composes tables with every error bounded and added, and with a lower bound beside it.
"""

import math

import numpy as np
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

import noisewright


def loss_distribution(table: noisewright.Table, step: float = 0.01) -> PrivacyLossDistribution:
    """The distribution of losses that are multiples of the step, by Doroshenko et al. (2022), "Connect the Dots".

    At the dots the deltas are the table's, computed exactly and rounded up. Between them they lie on a chord, as
    functions of e^epsilon, and the true ones are convex. A smaller step is tighter: the excess falls with its square.
    """
    sure = table.profile(100)  # what a shift gives away for certain, or with a loss above 100
    # The first dot from which on nothing else is left.
    low, top = -1, math.ceil(100 / step)
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (low, middle) if table.profile(middle * step) == sure else (middle, top)
    # The masses are differences of differences of these, divided by the step: the last term is above their errors.
    deltas = np.array([np.nextafter(float(table.profile(i * step)), 1) for i in range(top + 1)]) + 2.0**-48 / step
    # Whoever takes P for Q takes Q for P: 1 - delta(-e) = e^-e·(1 - delta(e)).
    shrink = np.exp(-step * np.arange(top, 0, -1)) * (1 - 2.0**-50)
    below = 1 - shrink * (1 - deltas[:0:-1])
    deltas = np.minimum.accumulate(np.minimum(np.concatenate([below, deltas]), 1))
    return PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -top, top, deltas))
