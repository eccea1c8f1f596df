package reproduce

import "context"

var vlmFigure7 = vlmFigure{
	name: "vlm-figure7", short: "TODO", data: mnistFolder, about: mnistHelp,
	run: func(ctx context.Context, o *vlmOptions) error { return nil },
}
