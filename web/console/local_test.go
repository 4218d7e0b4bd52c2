package console

import "testing"

func TestOnlyPathsOfOursAreFollowed(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"/letters?status=open": "/letters?status=open", "/": "/", "": "/", "letters": "/", "//edi.example/": "/", "/\\edi.example": "/",
		"/\x00letters": "/", "/a\x01": "/", "/a\r\nX: y": "/", "/a\x7f": "/", "/a\u0085": "/", "/ä": "/ä",
	} {
		if got := local(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}
