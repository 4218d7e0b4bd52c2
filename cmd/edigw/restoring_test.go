package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

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
	if err != nil || len(lanes) != 1 || lanes[0].Key != "northwind" || lanes[0].Stop == nil || lanes[0].Stop.Reason != "restored" {
		t.Errorf("a partner without any message is stopped too: %+v, %v", lanes, err)
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
