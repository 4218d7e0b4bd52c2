package interop

import "slices"

// deviation is what a peer is known to do otherwise than the profile says. It
// stands in the matrix; a cell that comes out in any other way fails, also if
// it comes out well.
type deviation struct {
	peer      string
	direction direction
	profile   string
	result    string // exactly what the cell says
	label     string // in the matrix
	why       string // below it
}

// deviations are all that are known. Each peer's stand in its own file.
var deviations = slices.Concat(openAS2Deviations, as2LibDeviations, pyas2libDeviations, phase4Deviations)

// each makes one deviation of several profiles.
func each(d deviation, profiles ...string) (all []deviation) {
	for _, p := range profiles {
		d.profile = p
		all = append(all, d)
	}
	return all
}

// deviationOf gives the one of a cell.
func deviationOf(p named, way direction, profile string) (deviation, bool) {
	for _, d := range deviations {
		if d.peer == p.name() && d.direction == way && d.profile == profile {
			return d, true
		}
	}
	return deviation{}, false
}
