package access

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestTenWrongPasswordsInFifteenMinutesLockTheName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		every time.Duration // between wrong passwords
		wrong int
		after time.Duration // since the last one
		want  bool
	}{
		"nine wrong":                          {time.Second, 9, 0, false},
		"ten wrong":                           {time.Second, 10, 0, true},
		"ten wrong, spread over the window":   {99 * time.Second, 10, 0, true},
		"ten wrong, the first too long ago":   {100 * time.Second, 10, 0, false},
		"a minute before its end":             {time.Second, 10, 14 * time.Minute, true},
		"the lock ends after fifteen minutes": {time.Second, 10, 15 * time.Minute, false},
		"many wrong, but slowly":              {2 * time.Minute, 100, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l Lockout
			now := noon
			for i := range c.wrong {
				if i > 0 {
					now = now.Add(c.every)
				}
				l, _ = l.Wrong(now)
			}
			now = now.Add(c.after)
			until := l.Locked(now)
			if got := !until.IsZero(); got != c.want {
				t.Fatalf("locked %v, want %v", got, c.want)
			}
			if want := now.Add(15*time.Minute - c.after); c.want && !until.Equal(want) {
				t.Errorf("until %v, want %v", until, want)
			}
		})
	}
}

func TestALockoutBeginsAnew(t *testing.T) {
	t.Parallel()
	var l Lockout
	locked := 0
	for i := range 25 {
		var now bool
		if l, now = l.Wrong(noon.Add(time.Duration(i) * time.Second)); now {
			locked++
		}
	}
	if locked != 2 {
		t.Errorf("locked %d times by 25 wrong passwords, want 2", locked)
	}
}

func TestAClockThatGoesBackForgetsNoLock(t *testing.T) {
	t.Parallel()
	l := Lockout{until: noon.Add(time.Minute)}
	if l.Locked(noon.Add(-time.Hour)).IsZero() {
		t.Error("the lock ended because the clock went back")
	}
}

func TestManyNamesAreForgottenButLockedOnesAreNot(t *testing.T) {
	t.Parallel()
	l := lockouts{names: map[string]Lockout{}}
	for range wrongAllowed {
		l.wrong("Victim", noon)
	}
	for i := range 3 * maxNames {
		l.wrong(fmt.Sprintf("name-%d", i), noon.Add(time.Second))
	}
	if len(l.names) > maxNames {
		t.Errorf("%d names are remembered, at most %d", len(l.names), maxNames)
	}
	if l.locked("victim", noon.Add(time.Minute)).IsZero() {
		t.Error("a flood of names lifted a lock")
	}
	l.lift("VICTIM")
	if !l.locked("victim", noon.Add(time.Minute)).IsZero() {
		t.Error("lifting did not lift")
	}
}

func TestAnEncodedPasswordThatAsksForTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	unusable := recommended.nobody()
	for name, encoded := range map[string]string{
		"empty":            "",
		"another function": strings.Replace(unusable, "argon2id", "argon2i", 1),
		"another version":  strings.Replace(unusable, "v=19", "v=16", 1),
		"too much memory":  strings.Replace(unusable, "m=65536", "m=99999999", 1),
		"too many passes":  strings.Replace(unusable, "t=3", "t=99", 1),
		"no lanes":         strings.Replace(unusable, "p=4", "p=0", 1),
		"short salt":       strings.Replace(unusable, "$AAAAAAAAAAAAAAAAAAAAAA$", "$AAAA$", 1),
		"short key":        unusable[:len(unusable)-4],
		"not base64":       unusable[:len(unusable)-1] + "!",
	} {
		if _, err := parseEncoded(encoded); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := parseEncoded(unusable); err != nil {
		t.Errorf("what names without a user are compared with: %v", err)
	}
}
