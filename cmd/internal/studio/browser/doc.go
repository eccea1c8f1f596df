// SPDX-License-Identifier: Apache-2.0

// Package browser tests `noisewright studio` and the verifier page in headless Chromium. It
// is a module of its own, so that what drives a browser is no dependency of anything else; it
// knows of the program what a person does: its command line and its pages.
package browser
