package words

import "fmt"

// Bytes is a size for people: "812 bytes", "48.2 KB", "2.1 GB"; a KB is 1,000
// bytes, as in settings.
func Bytes(n int64) string {
	if n < 1000 {
		return Count(int(n), "byte", "bytes")
	}
	f, unit := float64(n), ""
	for _, unit = range []string{"KB", "MB", "GB", "TB"} {
		if f /= 1000; f < 999.95 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}
