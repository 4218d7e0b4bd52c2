package console

import (
	"edigw/internal/words"
)

// strip is the figures of the whole gateway.
func (c *Console) strip(v *visit, o overview) []stripItem {
	items := []stripItem{
		{Label: "Dead letters", Value: words.Number(int64(o.letters)), Path: "/letters", Bad: o.letters > 0},
		{Label: "Oldest", Value: "none", Path: "/letters"},
		{Label: "Outages", Value: o.outages, Path: "/?show=trouble", Bad: o.outages != "0"},
		{Label: "Certificates to renew", Value: words.Number(int64(o.ending)), Path: "/certificates", Bad: o.ending > 0},
		{Label: "Our own network", Value: "fine"},
		{Label: "Store", Value: orFine(o.store), Bad: o.store != ""},
		{Label: "Alert channels", Value: orFine(o.channels), Path: "/alerts", Bad: o.channels != ""},
	}
	if o.store != "" { // only then do the alerts say something about it
		items[5].Path = "/alerts"
	}
	if !o.oldest.IsZero() {
		items[1].Value = words.Span(v.now.Sub(o.oldest))
	}
	if o.isolated.On() {
		items[4].Value, items[4].Bad = "unreachable since "+v.at(o.isolated.Since).Clock, true
	}
	return items
}

func orFine(trouble string) string {
	if trouble == "" {
		return "fine"
	}
	return trouble
}
