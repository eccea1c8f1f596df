// SPDX-License-Identifier: Apache-2.0

// Package frequency has the errors of published mechanisms for answers that are categories, which
// those of subset selections and strategies are compared with. No guarantee rests on it.
package frequency
