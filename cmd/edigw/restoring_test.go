package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"edigw/store/spool"
	"edigw/store/sqlite"
)

func TestARestoreThatWasCutOffIsNotServed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	if err := s.opened().store.Close(); err != nil {
		t.Fatal(err)
	}
	s.unlocked(func() error {
		store, err := sqlite.Open(t.Context(), s.path("data"), sqlite.Options{})
		if err != nil {
			return err
		}
		return errors.Join(writeBackup(t.Context(), store, s.path("data"), "edi.acme.example", s.path("b.tar")), store.Close())
	})
	if err := os.RemoveAll(s.path("data")); err != nil {
		t.Fatal(err)
	}
	s.write("data.restoring/"+sqlite.FileName, "half a database")
	if g, err := open(context.Background(), s.path("edigw.yaml"), slog.New(slog.DiscardHandler)); err == nil {
		g.store.Close()
		t.Error("a gateway serves beside half a restore")
	} else if !strings.Contains(err.Error(), "restore") {
		t.Error(err)
	}
	if code, text := s.run("restore", "b.tar"); code != 0 {
		t.Fatal(text)
	}
	if _, err := os.Stat(s.path("data.restoring")); !os.IsNotExist(err) {
		t.Errorf("the folder of the restore: %v", err)
	}
	lanes, err := s.opened().store.Lanes(t.Context())
	if err != nil || len(lanes) != 3 || lanes[0].Key != "northwind" || lanes[0].Stop == nil || lanes[0].Stop.Reason != "restored" {
		t.Errorf("a partner without any message is stopped too: %+v, %v", lanes, err)
	}
}

// Small bodies and files go the same way through a backup; bytes that were
// damaged in it are missing afterwards, and never stand under another's name.
func TestABackupHoldsSmallBodiesAndFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	g := s.opened()
	want := map[string]string{}
	for _, text := range []string{"", "a small document", strings.Repeat("a large document ", spool.MaxSmall/10)} {
		want[g.stored(t, spool.Payload, text, 0)] = text
	}
	damaged := g.stored(t, spool.Payload, "a document whose backup is damaged", 0)
	if err := writeBackup(t.Context(), g.store, s.path("data"), "edi.acme.example", s.path("b.tar")); err != nil {
		t.Fatal(err)
	}
	if err := g.store.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.path("b.tar"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("b.tar", strings.Replace(string(text), "a document whose backup", "a document whose BACKUP", 1))
	if err := os.Rename(s.path("data"), s.path("data.broken")); err != nil {
		t.Fatal(err)
	}
	if code, text := s.run("restore", "b.tar"); code != 0 {
		t.Fatal(text)
	}
	g = s.opened()
	for name, text := range want {
		f, err := g.spool.Open(spool.Payload, name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != text {
			t.Errorf("%d bytes are %d after the restore, %v", len(text), len(got), err)
		}
		f.Close()
	}
	if g.has(spool.Payload, damaged) {
		t.Error("a damaged document stands under the name of the good one")
	}
}

func TestABackupThatCannotBeMarkedFillsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	var file bytes.Buffer
	w := tar.NewWriter(&file)
	head, err := json.Marshal(manifest{Format: format, Domain: "edi.acme.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ name, text string }{{manifestName, string(head)}, {sqlite.FileName, strings.Repeat("no database ", 1000)}} {
		if err := w.WriteHeader(&tar.Header{Name: x.name, Mode: 0o600, Size: int64(len(x.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(x.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.write("b.tar", file.String())
	if code, text := s.run("restore", "b.tar"); code == 0 {
		t.Error(text)
	}
	for _, dir := range []string{"data", "data.restoring"} {
		if left, err := os.ReadDir(s.path(dir)); err == nil && len(left) > 0 {
			t.Errorf("%s holds %v", dir, left)
		}
	}
}
