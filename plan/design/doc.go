// SPDX-License-Identifier: Apache-2.0

// Package design chooses plans: of several ways to answer a workload, each with its error, the best one,
// as a plan that is proved (package plan). No guarantee rests on it.
//
// Candidates are each cell by itself; cells and blocks of them (Hay, Rastogi, Miklau & Suciu 2010); tables
// of all or of the workload's attributes; p-identity matrices with geometric noise (McKenna, Miklau, Hay &
// Machanavajjhala 2018); and the best factorization with Gaussian noise, of which the dual says that no
// other is better, for tables in closed form (Xiao, He, Zhang & Kifer 2023).
package design
