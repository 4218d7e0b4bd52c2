package partner

import (
	"strings"
	"testing"
)

// A key store of Java's older kind is the likeliest file that is no P12: whoever
// has one is told how to make a P12 of it.
func TestJavaKeyStoreAsAKey(t *testing.T) {
	t.Parallel()
	_, _, err := p12Identity([]byte("\xfe\xed\xfe\xed and more"), "secret")
	if err == nil || !strings.Contains(err.Error(), "keytool -importkeystore -deststoretype pkcs12") {
		t.Errorf("%v", err)
	}
}
