package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/shell"
)

const vlmTable1 = "vlm-table1"

type vlmTable1Options struct{ shell.Common }

func newVLMTable1Command(s *shell.Streams) *cobra.Command {
	o := &vlmTable1Options{shell.Common{Streams: s}}
	return command(&o.Common, vlmTable1, "", "Which part of a network has to be trained privately in which scenario",
		`Print which part of a network has to be trained with differential privacy for the
people of its training data, by scenario and by what is made of a release: the question
of appendix D of Mansbridge et al., "Learning to Noise" (arXiv 2010.12464). The rule is
one: a part that somebody else sees, or of which somebody sees what it computes. Noise
on encodings protects who is encoded, and nobody else.

noisewright encoder train vlm holds to this table. Written is vlm-table1.csv.`, o.run, func(*shell.Flags) {})
}

type vlmTable1Row struct {
	Scenario    vlm.Scenario `json:"scenario"`
	Level       vlm.Level    `json:"level"`
	EncoderSeen string       `json:"encoder_seen_by"`
	DecoderSeen string       `json:"decoder_seen_by"`
	Private     string       `json:"trained_privately"`
}

func vlmTable1Rows() (rows []vlmTable1Row, err error) {
	for _, s := range []vlm.Scenario{vlm.Collection, vlm.NovelClass, vlm.Joining} {
		for _, l := range []vlm.Level{vlm.Latent, vlm.Features} {
			row := vlmTable1Row{Scenario: s, Level: l, EncoderSeen: "those who are asked", DecoderSeen: "nobody"}
			switch {
			case s == vlm.Joining && l == vlm.Features:
				row.EncoderSeen, row.DecoderSeen = "the receiver, by features", "the receiver, by features"
			case s == vlm.Joining:
				row.EncoderSeen = "the receiver, by encodings"
			case l == vlm.Features:
				row.DecoderSeen = "nobody but who trained it"
			}
			parts, err := s.Private(l)
			if err != nil {
				return nil, err
			}
			row.Private = parts.String()
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (o *vlmTable1Options) run(context.Context) error {
	rows, err := vlmTable1Rows()
	if err != nil {
		return err
	}
	all := [][]string{{"scenario", "level", "encoder_seen_by", "decoder_seen_by", "trained_privately"}}
	for _, r := range rows {
		all = append(all, record(r.Scenario, r.Level, r.EncoderSeen, r.DecoderSeen, r.Private))
	}
	files, err := produce(&o.Common, func(*shell.Progress) error { return nil }, output{name: vlmTable1, records: func() [][]string { return all }})
	if err != nil {
		return err
	}
	body := struct {
		Rows []vlmTable1Row `json:"rows"`
	}{rows}
	return o.PrintText(document(vlmTable1, body, files), func(b *strings.Builder) {
		for i, r := range all {
			b.WriteString("| " + strings.Join(r, " | ") + " |\n")
			if i == 0 {
				b.WriteString("|" + strings.Repeat(" --- |", len(r)) + "\n")
			}
		}
		b.WriteString("\nfile: " + files[0] + "\n")
	})
}
