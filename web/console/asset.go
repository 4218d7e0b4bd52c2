package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// assets are our scripts and styles. The path of one holds the digest of all,
// so that a browser may keep it for ever and modules find each other.
type assets struct {
	digest string
	files  map[string][]byte
}

func loadAssets() (assets, error) {
	a := assets{files: map[string][]byte{}}
	sum := sha256.New()
	err := fs.WalkDir(assetFiles, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := assetFiles.ReadFile(name)
		a.files[path.Base(name)] = b
		sum.Write(b)
		return err
	})
	a.digest = hex.EncodeToString(sum.Sum(nil))[:12]
	return a, err
}

// url is where a page finds a file.
func (a assets) url(name string) string { return "/assets/" + a.digest + "/" + name }

// ServeHTTP implements http.Handler.
func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	digest, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/assets/"), "/")
	b, known := a.files[name]
	if digest != a.digest || !known {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(b)
}
