// SPDX-License-Identifier: Apache-2.0

// Package proof has the noun of this module: a [Mechanism] randomizes an input, and carries
// what proves its privacy and its loss with it. It may be noise of one law (package tables),
// laws of answers or of noise by the input (kernels, cells), a local randomizer (local), or
// a form that is still to come: inputs and answers are a [Value] of any [Kind].
//
// What differs between forms is in their packages: the specification, the exact check and
// the bounds. What does not is here: [Verify] certifies a mechanism once, holds what it
// claims against the certificate, and makes the [Verified] that samplers want; [Meter]
// bounds the work of that. proof/forms reads a file of any form.
package proof
