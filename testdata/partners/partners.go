// Package partners holds sample settings as files of the program. It owns no
// code: what reads them is package partner.
package partners

import "embed"

// Demo is the installation that `edigw demo` plays with, below the folder
// demo. Every address in it is 127.0.0.1 with a port of 4200 to 4219; keys/ is
// missing: the demo makes keys anew each time.
//
//go:embed demo
var Demo embed.FS
