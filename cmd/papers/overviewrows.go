// SPDX-License-Identifier: Apache-2.0

package main

// Drawings and texts that no command computes.
const (
	notAtHand = "no command: its text is not at hand"
	noResults = "a drawing without results; no command"
)

// What quick runs of tables of images print: accuracies at the local ε, in the order of the axis.
const atEpsilons = "at local ε = ∞, 10, 8, 6, 4, 2, 1: "

// overview has the five documents, of which one is a poster.
var overview = []struct {
	title string
	rows  []overviewRow
}{
	{"DRO: Selvi, Liu and Wiesemann (accepted manuscript of December 2024)", []overviewRow{
		{
			what: "Figure 1", command: "dro-figure1",
			paper:   "standard deviations in rupees: designed 257.68, truncated Laplace 273.48, analytic Gaussian 300.96",
			ours:    `{{with index .designs 0}}designed {{fix 2 (sqrt .lower_bound)}} to {{fix 2 (sqrt .expected_loss)}}{{end}}; the others to the last digit (a test)`,
			verdict: "yes; which curves the paper draws is inferred from its text",
		},
		{what: "Figure 2", caption: "which bound is above which", verdict: noResults},
		{
			what: "Figure 3", command: "dro-figure3",
			paper:   "data independent in at most 2.2 s; data dependent to a gap of 10 % in 5.82 s, of 5 % in 980 s; data dependent much better for (1, 0.2) and (0.2, 0.05), hardly for (5, 0.25)",
			ours:    `independent / dependent: (5, 0.25) {{$d := .designs}}{{fix 4 (index $d 0).expected_loss}} / {{fix 4 (index $d 1).expected_loss}}, (1, 0.2) {{fix 4 (index $d 2).expected_loss}} / {{fix 4 (index $d 3).expected_loss}}, (0.2, 0.05) {{fix 4 (index $d 4).expected_loss}} / {{fix 4 (index $d 5).expected_loss}}`,
			verdict: "yes in kind; ours are laws for each value and not for intervals, so they gain more, at (5, 0.25) too",
		},
		{
			what: "Figure 4", command: "dro-figure4",
			paper:   "monotone noise is not optimal; no numbers",
			ours:    `{{range $i, $e := .designs}}{{if $i}}, {{end}}{{fix 3 .expected_loss}}{{end}} (each without and with the constraint)`,
			verdict: "yes; bins finer than the paper's 0.5",
		},
		{
			what: "Figure 5", command: "dro-figure5",
			paper:   "laws of the intervals differ; no numbers",
			ours:    `{{range $i, $e := .designs}}{{if $i}}, {{end}}{{fix 3 .expected_loss}} (at least {{fix 3 .lower_bound}}){{end}}`,
			verdict: "yes; bins of 0.4 and 0.67, and not of 0.5",
		},
		{what: "Figures 6 to 8", caption: "intervals and loss functions of proofs", verdict: noResults},
		{
			what: "Table 1", command: "dro-table1", full: "the same",
			paper: "100 numbers", ours: `{{.within_half_point}} of {{.compared}} within 0.5 points`, verdict: "yes but for 4 entries with another number of terms in the known lower bound; [below](#how-close)",
		},
		{
			what: "Table 2", command: "dro-table2 --data @uci", full: "13 min of a processor",
			paper:   "ecoli, out of sample: none 4.52, truncated Laplace 27.44, designed 26.95, data dependent 19.28",
			ours:    `ecoli: {{$s := pick .sets "errors" "set" "ecoli"}}none {{fix 2 (pick $s "out_of_sample" "noise" "none")}}, truncated Laplace {{fix 2 (pick $s "out_of_sample" "noise" "truncated-laplace")}}, designed {{fix 2 (pick $s "out_of_sample" "noise" "designed")}}`,
			verdict: "the order is, numbers mostly within 1 point, but not on spambase, absenteeism and adult; the data dependent column is missing; [below](#naive-bayes-and-coordinate-descent)",
		},
		{
			what: "Table 3", command: "dro-table3 --data @uci", full: "9 min of a processor, without the five sets that are left out",
			paper:   "ecoli, out of sample: none 6.96, truncated Laplace 7.53, designed 7.45, data dependent 6.70",
			ours:    `ecoli: {{$s := pick .sets "errors" "set" "ecoli"}}none {{fix 2 (pick $s "out_of_sample" "noise" "none")}}, truncated Laplace {{fix 2 (pick $s "out_of_sample" "noise" "truncated-laplace")}}, designed {{fix 2 (pick $s "out_of_sample" "noise" "designed")}}`,
			verdict: "without noise and in order yes; designed and truncated Laplace noise do not differ here, and data dependent noise is worse and not better",
		},
		{
			what: "Table 4", command: "dro-table4", full: "the same", paper: "100 numbers",
			ours: `{{.within_half_point}} of {{.compared}} within 0.5 points`, verdict: "the paper's optimum is the middle of two grids; [below](#the-optimum-of-tables-4-and-5)",
		},
		{
			what: "Table 5", command: "dro-table5", full: "the same", paper: "100 numbers",
			ours: `{{.within_half_point}} of {{.compared}} within 0.5 points`, verdict: "as Table 4",
		},
		{
			what: "Table 6", command: "dro-table6", full: "the same", paper: "100 numbers",
			ours: `{{.within_half_point}} of {{.compared}} within 0.5 points`, verdict: "no; [below](#the-l2-tables) says why",
		},
	}},
	{"DRO, appendix (numbers of figures as in the appendix; those of the supplement of May 2024 in the authors' repository are one larger, as it has another Figure 1)", []overviewRow{
		{
			what: "Figure 1 (2)", command: "dro-supplement-figure1", paper: "no numbers",
			ours: `{{range $i, $e := .designs}}{{if $i}}, {{end}}{{.name}} {{fix 5 .expected_loss}}{{end}}`, verdict: "yes, with finer cells",
		},
		{
			what: "Figure 2 (3)", command: "dro-supplement-figure2", paper: "no numbers",
			ours: `{{range $i, $e := .designs}}{{if $i}}, {{end}}{{.name}} {{fix 4 .expected_loss}}{{end}}`, verdict: "yes, with finer cells",
		},
		{
			what: "Figure 3 (4)", command: "dro-supplement-figure3 --data @uci",
			paper: "more than 80 % within ±10", ours: `{{percent .within_10}}`, verdict: "yes",
		},
		{what: "(1) of the repository", caption: "the privacy loss of Laplace and Gaussian noise in Example 1", verdict: "no command: of classical noise alone"},
		{what: "(5) of the repository", caption: "bounds for other supports and granularities, (1, 0.2)", verdict: "no command: our designs have no such settings, as supports and cells follow from the gap"},
		{what: "(6) of the repository", caption: "noise of a query of two dimensions, (2, 0.2) and (5, 0.2)", verdict: "no command: there is no designed noise of two dimensions under l2 here"},
		{
			what: "Table 1", command: "dro-supplement-table1", full: "the same", paper: "100 numbers",
			ours: `{{.within_half_point}} of {{.compared}} within 0.5 points`, verdict: "no; [below](#the-l2-tables)",
		},
		{
			what: "Table 2", command: "dro-supplement-table2", full: "the same", paper: "100 numbers",
			ours: `{{.within_half_point}} of {{.compared}} within 0.5 points`, verdict: "partly; [below](#the-l2-tables)",
		},
	}},
	{"TA: Cheng, Tang and Chinchali, and its poster, of which no number is known that the paper has not", []overviewRow{
		{what: "Figures 1 and 2", caption: "–", verdict: notAtHand},
		{
			what: "Figure 3", command: "ta-figure3", paper: "no numbers",
			ours: `r/ε = 0.1, λ = 1, 1, 1: {{fix 4 (pick .points "task_aware" "setting" 1 "r_over_epsilon" 0.1)}} aware, {{fix 4 (pick .points "task_agnostic" "setting" 1 "r_over_epsilon" 0.1)}} agnostic, {{fix 4 (pick .points "privacy_agnostic" "setting" 1 "r_over_epsilon" 0.1)}} privacy-agnostic`, verdict: "yes: by the formulas of the paper",
		},
		{
			what: "Figure 4", command: "ta-figure4 --data @household_daily_profiles.csv.gz --cache -", full: "the same",
			paper:   "at most 22.9 % better than task-agnostic (ε = 10), 11.7 % than privacy-agnostic (ε = 5)",
			ours:    `{{range $i, $e := .improvements}}{{if eq .protocol "published"}}{{if $i}}, {{end}}{{percent .share}} than {{.than}} (ε = {{.epsilon}}){{end}}{{end}}`,
			verdict: "yes, with the noise of the authors' program, which is √2 too small for its ε",
		},
		{
			what: "Figure 5", command: "ta-figure5 --wdbc @wdbc.csv --real-estate @valuation.csv --cache -", full: "29 min of a processor for the cancer, formula",
			paper:   "houses at ε = 5 21.9 % and 13.5 % better than task-agnostic and privacy-agnostic, cancer at ε = 20 73.0 % and 45.6 %",
			ours:    `published, 80 of 2000 epochs: {{range $i, $e := .improvements}}{{if eq .protocol "published"}}{{if $i}}, {{end}}{{.data}}, ε = {{.epsilon}}: {{percent .share}} than {{.than}}{{end}}{{end}}`,
			verdict: "in kind; smaller, and they vary by 4 to 11 points between runs; [below](#trained-encoders-figures-5-to-8)",
		},
		{
			what: "Figure 6", command: "ta-figure6 --wdbc @wdbc.csv --real-estate @valuation.csv --cache -", full: "18 min of a processor",
			paper:   "no numbers",
			ours:    `{{range $i, $e := .improvements}}{{if eq .than "task-agnostic"}}{{if $i}}, {{end}}{{.data}}, Z = {{.coordinates}}, ε = {{.epsilon}}: {{percent .share}}{{end}}{{end}} than task-agnostic; 40 of 2000 epochs`,
			verdict: "few numbers are better in full runs; [below](#trained-encoders-figures-5-to-8)",
		},
		{
			what: "Figure 7", command: "ta-figure7 --wdbc @wdbc.csv --real-estate @valuation.csv --cache -", full: "16 min of a processor",
			paper:   "no numbers",
			ours:    `formula: {{range $i, $e := .improvements}}{{if eq .protocol "formula"}}{{if $i}}, {{end}}{{.data}}, ε = {{.epsilon}}: {{percent .share}} than {{.than}}{{end}}{{end}}; 40 of 2000 epochs`,
			verdict: "partly: with a hidden layer task-aware is not better than privacy-agnostic on the houses",
		},
		{
			what: "Figure 8", command: "ta-figure8 --mnist @mnist --cache -", full: "not measured with today's program",
			paper:   "23.8 % better than privacy-agnostic (ε = 20)",
			ours:    `{{range $i, $e := .improvements}}{{if $i}}, {{end}}ε = {{.epsilon}}: {{percent .share}} than {{.than}}{{end}}; 3 of 60 epochs`,
			verdict: "no: −24.5 % after 6 epochs; [below](#trained-encoders-figures-5-to-8) says what was tried",
		},
	}},
	{"LN: Mansbridge et al.", []overviewRow{
		{
			what: "Figure 1", command: "vlm-figure1 --data @mnist --loans @lending_club.csv.gz", full: "some 24 min of a processor, on all cores: 5 min for each of two networks (one measured wholly, beside other work), 4.7 for each of two with a central ε (from 150 of 5,624 steps), the rest for classifiers (estimated)",
			paper:   "direct noise at chance up to ε = 100 on MNIST and 20 on loans; encodings far above chance; no numbers",
			ours:    "MNIST, latent, no central ε, " + atEpsilons + `{{line .points "accuracy" "data" "MNIST, latent" "series" "no central ε"}}; features {{line .points "accuracy" "data" "MNIST, features" "series" "no central ε"}}; direct noise {{line .points "accuracy" "data" "MNIST, features" "series" "direct noise"}} from 10 on`,
			verdict: "in kind: in the full setting .485 at ε = 2, and .163 at 1, above chance by a test; the loans are another and a small sample",
		},
		{
			what: "Figure 2", command: "vlm-figure2 --data @mnist", full: "as Figure 1, by the same steps",
			paper:   "about .75 at ε = 2 at both levels, above chance at 1",
			ours:    "latent, no central ε, " + atEpsilons + `{{line .points "accuracy" "data" "MNIST, 9 against others, latent" "series" "no central ε"}}; features {{line .points "accuracy" "data" "MNIST, 9 against others, features" "series" "no central ε"}}`,
			verdict: "yes at latent level, at 2 and at 1; features have less; [below](#learning-to-noise)",
		},
		{
			what: "Figure 3", command: "vlm-figure3 --loans @lending_club.csv.gz --adult @adult.csv.gz", full: "no such form",
			paper:   "clean features alone .561, all clean .658, a gain for ε from 4 to 10 (loans)",
			ours:    `adult: alone {{fix 3 (pick .points "accuracy" "data" "adult, latent" "series" "clean features alone")}}, all {{fix 3 (pick .points "accuracy" "data" "adult, latent" "series" "all features clean")}}, ` + atEpsilons + `{{line .points "accuracy" "data" "adult, latent" "series" "no central ε"}}; loans: {{fix 3 (pick .points "accuracy" "data" "loans, latent" "series" "clean features alone")}}, {{fix 3 (pick .points "accuracy" "data" "loans, latent" "series" "all features clean")}}, {{line .points "accuracy" "data" "loans, latent" "series" "no central ε"}}`,
			verdict: "in kind on adult; the loans are a small sample with other columns",
		},
		{
			what: "Figure 4", command: "vlm-figure4 --data @mnist", full: "as Figure 1",
			paper:   "below the bound (10); no numbers",
			ours:    "no central ε, " + atEpsilons + `{{line .points "accuracy" "data" "MNIST, latent" "series" "no central ε"}}; the bound {{line .points "accuracy" "data" "MNIST, latent" "series" "bound (10)"}} from 10 on`,
			verdict: "yes",
		},
		{what: "Figures 5 and 6", caption: "–", verdict: notAtHand},
		{
			what: "Figure 7", command: "vlm-figure7 --data @mnist", full: "as Figure 1",
			paper:   "no numbers",
			ours:    "no central ε, " + atEpsilons + `{{line .points "accuracy" "data" "MNIST, features" "series" "no central ε"}}`,
			verdict: "cannot be said: the paper prints nothing",
		},
		{
			what: "Appendix D", command: "vlm-table1", paper: "a table", full: "the same",
			ours: `{{len .rows}} rows, by one rule`, verdict: "by our rule; the paper's own order of training protects nobody",
		},
		{what: "Tables 3 and 4", caption: "parameters that were chosen", verdict: "parameters of its networks, not results; ours are in --help"},
	}},
	{"MF: Hamm", []overviewRow{
		{what: "Figures 1 to 3", caption: "–", verdict: notAtHand},
		{
			what: "Figure 4", command: "minimax-figure4 --data @genki.csv.gz --mask @genki_ddd_mask.csv", full: "3 min of a processor",
			paper:   "raw .90/.90; DDD comes close to the minimax filter, whose private accuracy is near .5",
			ours:    `d = 10, target/private by the paper's attacker: minimax {{$p := .points}}{{fix 3 (pick $p "accuracy" "filter" "minimax" "role" "target" "attacker" "plain")}}/{{fix 3 (pick $p "accuracy" "filter" "minimax" "role" "private" "attacker" "plain")}}; DDD {{fix 3 (pick $p "accuracy" "filter" "ddd mask" "role" "target" "attacker" "plain")}}/{{fix 3 (pick $p "accuracy" "filter" "ddd mask" "role" "private" "attacker" "plain")}}, but {{fix 3 (pick $p "accuracy" "filter" "ddd mask" "role" "private" "attacker" "linear")}} by an attacker that standardizes and {{fix 3 (pick $p "accuracy" "filter" "ddd mask" "role" "private" "attacker" "mlp")}} by a network`,
			verdict: "yes for the paper's attacker; **DDD falls to one that standardizes**",
		},
		{what: "Figure 5", caption: "ENTERFACE: emotion against speaker", verdict: "no command: the data are not public"},
		{
			what: "Figure 6", command: "minimax-figure6 --data @wisdm_transformed.csv.gz", full: "not measured",
			paper:   "on HAR: raw .97/.70, private of the minimax filter near .07",
			ours:    `WISDM stands in: raw {{$p := .points}}{{fix 3 (pick $p "accuracy" "filter" "none" "role" "target" "attacker" "linear")}}/{{fix 3 (pick $p "accuracy" "filter" "none" "role" "private" "attacker" "linear")}}, minimax {{fix 3 (pick $p "accuracy" "filter" "minimax" "role" "target" "attacker" "linear")}}/{{fix 3 (pick $p "accuracy" "filter" "minimax" "role" "private" "attacker" "linear")}}`,
			verdict: "in kind; other data",
		},
		{
			what: "Figure 7", command: "minimax-figure7 --faces @genki.csv.gz --activities @wisdm_transformed.csv.gz", full: "6 min of a processor for both (measured wholly)",
			paper:   "pre better than post, minimax best, its private accuracy at chance; no numbers",
			ours:    `GENKI, 1/ε = 0, .001, .01, .1, 1, 10, target: minimax-pre {{$p := .points}}{{line $p "accuracy" "part" "GENKI, d = 20" "filter" "minimax-pre" "role" "target"}}; minimax-post {{line $p "accuracy" "part" "GENKI, d = 20" "filter" "minimax-post" "role" "target"}}; private, minimax-pre {{line $p "accuracy" "part" "GENKI, d = 20" "filter" "minimax-pre" "role" "private"}}`,
			verdict: "yes on faces; on activities pca-pre is better at 1/ε = .01",
		},
		{
			what: "Figure 8", command: "minimax-figure8 --faces @genki.csv.gz --activities @wisdm_transformed.csv.gz", full: "with Figure 7",
			paper:   "the same for each d; no numbers",
			ours:    `minimax-pre at 1/ε = .01, GENKI d = 10, 20: {{$p := .points}}{{fix 3 (pick $p "accuracy" "part" "GENKI, d = 10" "filter" "minimax-pre" "role" "target" "epsilon" 100)}}, {{fix 3 (pick $p "accuracy" "part" "GENKI, d = 20" "filter" "minimax-pre" "role" "target" "epsilon" 100)}}; WISDM d = 10, 20: {{fix 3 (pick $p "accuracy" "part" "WISDM, d = 10" "filter" "minimax-pre" "role" "target" "epsilon" 100)}}, {{fix 3 (pick $p "accuracy" "part" "WISDM, d = 20" "filter" "minimax-pre" "role" "target" "epsilon" 100)}}`,
			verdict: "in kind, without ENTERFACE; quick: two d for each data set",
		},
		{what: "Theorem 4 and Corollary 7", caption: "bounds", verdict: "no command. Of the paper's text we have the settings of the experiments and not these statements: missing are what they assume of filters, classifiers and losses, the inequalities with their constants and their probability, and which noise the corollary is about. A bound from memory would be worth nothing"},
	}},
}
