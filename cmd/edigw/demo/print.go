package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// printer writes one line a fact. It is safe for concurrent use; an output
// that fails is no reason to stop.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

// fact prints that something happened to who just now.
func (p *printer) fact(who, format string, args ...any) { p.at(time.Now(), who, format, args...) }

// at prints that something happened to who at a time.
func (p *printer) at(t time.Time, who, format string, args ...any) {
	p.write(stamp(t, who, fmt.Sprintf(format, args...)))
}

// quote prints a fact and, below it, what somebody got, word for word.
func (p *printer) quote(who, fact, text string) {
	p.write(append([]string{stamp(time.Now(), who, fact)}, quoted(text)...)...)
}

// line prints what belongs to no fact.
func (p *printer) line(format string, args ...any) { p.write(fmt.Sprintf(format, args...)) }

func stamp(t time.Time, who, text string) string {
	return fmt.Sprintf("%s  %-18s  %s", t.Local().Format(time.TimeOnly), who, text)
}

func quoted(text string) (lines []string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, fmt.Sprintf("%8s  %18s  | %s", "", "", strings.TrimRight(line, "\r\n")))
	}
	return lines
}

func (p *printer) write(lines ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range lines {
		fmt.Fprintln(p.out, strings.TrimRight(l, " "))
	}
}
