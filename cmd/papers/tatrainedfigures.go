package main

import (
	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
)

var taFigures = []taFigure{taFigure5, taFigure6, taFigure7, taFigure8}

var taFigure5 = taFigure{
	name:  "ta-figure5",
	short: "Figure 5 of Cheng, Tang & Chinchali (2022): house prices and breast cancer",
	about: `Train encoders for the price of houses and for the diagnosis of breast cancer, by three
approaches, and compare the losses of the task. Encoders send 3 numbers; that of the
houses is linear, that of the diagnosis has a hidden layer.`,
	protocols: []string{protocolPublished, protocolFormula, protocolPromised},
	settings:  func() []taSetting { return []taSetting{realEstateSetting(), breastCancerSetting()} },
	published: map[string]string{
		realEstate:   "at most 21.9 % better than task-agnostic and 13.5 % than privacy-agnostic, both at epsilon 5",
		breastCancer: "at most 73.0 % better than task-agnostic and 45.6 % than privacy-agnostic, both at epsilon 20",
	},
}

var taFigure6 = taFigure{
	name:  "ta-figure6",
	short: "Figure 6 of Cheng, Tang & Chinchali (2022): how many numbers to send",
	about: `Train encoders for the price of houses and for the diagnosis of breast cancer that send
1, 3 or 6 numbers, and 3, 15 or 30.`,
	protocols: []string{protocolFormula},
	settings: func() []taSetting {
		houses, cancer := realEstateSetting(), breastCancerSetting()
		houses.coordinates, cancer.coordinates = []int{1, 3, 6}, []int{3, 15, 30}
		return []taSetting{houses, cancer}
	},
	published: map[string]string{
		realEstate:   "the paper prints no numbers for this figure",
		breastCancer: "the paper prints no numbers for this figure",
	},
}

var taFigure7 = taFigure{
	name:  "ta-figure7",
	short: "Figure 7 of Cheng, Tang & Chinchali (2022): encoders that are not linear",
	about: `Train encoders with a hidden layer of sigmoids for the price of houses, in the place of
the linear ones of figure 5, and linear ones for the diagnosis of breast cancer, in the
place of those with a hidden layer.`,
	protocols: []string{protocolFormula, protocolPromised},
	settings: func() []taSetting {
		houses, cancer := realEstateSetting(), breastCancerSetting()
		houses.hidden, cancer.hidden = true, false
		// With the decay of the linear encoder nothing is left of one with sigmoids: it sends the
		// same for everybody.
		houses.decay = cancer.decay
		return []taSetting{houses, cancer}
	},
	published: map[string]string{realEstate: "the paper prints no numbers for this figure"},
}

var taFigure8 = taFigure{
	name:  "ta-figure8",
	short: "Figure 8 of Cheng, Tang & Chinchali (2022): handwritten digits",
	about: `Train linear encoders of 10 numbers for a linear classifier of handwritten digits: the
first 6000 images of MNIST to learn from, the first 1000 to test. Steps are about 64
images, 10 for each draw of noise, whose scale is that of the batch in training and the
mean of those in the test. The encoders of the protocol promised are linear too.`,
	protocols: []string{protocolFormula, protocolPromised},
	settings: func() []taSetting {
		return []taSetting{{
			data: handwritten, decay: 0.2, task: taskaware.TaskOptions{Batch: 64, Steps: 30 * (taTrainImages / 64)}, coordinates: []int{10},
			epochs: 10, epsilons: map[string][]float64{protocolFormula: {10, 20, 50}, protocolPromised: {20}}, quick: []float64{20}, batch: 64, inner: 10,
			than: []taskaware.Approach{taskaware.PrivacyAgnostic}, tried: []int{5, 10}, restarts: 1,
		}}
	},
	published: map[string]string{handwritten: "at most 23.8 % better than privacy-agnostic, at epsilon 20"},
}
