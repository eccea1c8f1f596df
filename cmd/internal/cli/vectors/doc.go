// SPDX-License-Identifier: Apache-2.0

// Package vectors has the commands about feature vectors: latent and encoder.
package vectors
