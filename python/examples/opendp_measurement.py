# SPDX-License-Identifier: Apache-2.0
"""A table as a measurement of OpenDP, to stand after its transformations.

    count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
    release = count >> make_table(noisewright.load("count.json"))
    release.map(1)  # (1.0, 1e-06)

OpenDP asks for the features "contrib" and "honest-but-curious" for any measurement made outside of it: its privacy
map is what the table's exact proof says.
"""

import opendp.prelude as dp

import noisewright


def make_table(table: noisewright.Table) -> dp.Measurement:
    """The query value plus noise of the table, from numbers at an absolute distance to (epsilon, delta).

    The map is (epsilon, delta) up to the sensitivity, and (0, 0) at distance 0; beyond it nothing is promised, which is
    (inf, 1). Floats in for a real query, 32-bit integers for an integer one, as OpenDP counts in.
    """
    kind = int if table.query == "integer" else float
    promise = (table.privacy.epsilon, table.privacy.delta)

    def noisy(value: float) -> float:
        return kind(table.add_noise(value))

    def privacy_map(distance: float) -> tuple[float, float]:
        if distance == 0:
            return (0.0, 0.0)
        return promise if distance <= table.privacy.sensitivity else (float("inf"), 1.0)

    return dp.m.make_user_measurement(
        dp.atom_domain(T=kind) if kind is int else dp.atom_domain(T=kind, nan=False),
        dp.absolute_distance(T=kind),
        output_measure=dp.approximate(dp.max_divergence()),
        function=noisy,
        privacy_map=privacy_map,
        TO=kind,
    )
