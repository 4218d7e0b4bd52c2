package interop

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cacheDir is where foreign products are installed: never in the repository.
func cacheDir() (string, error) {
	if dir := os.Getenv("EDIGW_INTEROP_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "edigw-interop"), nil
}

// installed gives the folder of a product in the cache. If it is not there,
// install fills a folder that becomes it when that has succeeded.
func installed(name string, install func(dir string) error) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(cache, "half-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }()
	if err := install(half); err != nil {
		return "", err
	}
	err = os.Rename(half, dir)
	if _, there := os.Stat(dir); there == nil {
		return dir, nil // also if another run was faster
	}
	return dir, err
}

// pom asks Maven for the run-time dependencies of some artifacts.
func pom(artifacts []string) []byte {
	var b bytes.Buffer
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>edigw.test</groupId><artifactId>interop</artifactId><version>1</version>
<dependencies>
`)
	for _, a := range artifacts {
		part := strings.Split(a, ":")
		fmt.Fprintf(&b, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n", part[0], part[1], part[2])
	}
	b.WriteString("</dependencies>\n</project>\n")
	return b.Bytes()
}

// jars installs a Java library, group:artifact:version, and others that it needs
// but does not name, with all that those need, and gives their folder. sums is a
// list of checksums in this folder, as sha256sum writes it; what is not in it, or
// otherwise, is refused.
func jars(ctx context.Context, sums, library string, others ...string) (string, error) {
	part := strings.Split(library, ":")
	dir, err := installed(part[1]+"-"+part[2], func(dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "pom.xml"), pom(append([]string{library}, others...)), 0o600); err != nil {
			return err
		}
		// The plugin is named in full: the stock one of Debian's Maven is
		// reported as missing.
		cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
			"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(dir, "lib"))
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("mvn: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	lib := filepath.Join(dir, "lib")
	return lib, checkSums(lib, sums)
}

// classPath lists the jars of a folder by name: with a wildcard their order is
// that of the file system, and which of two copies of a class counts changes
// from machine to machine.
func classPath(lib string) (string, error) {
	found, err := filepath.Glob(filepath.Join(lib, "*.jar")) // sorted
	return strings.Join(found, string(os.PathListSeparator)), err
}

// virtualenv installs Python packages into an environment of their own and gives
// its interpreter. requirements is a list of all of them in this folder, as pip
// reads it, with checksums.
func virtualenv(ctx context.Context, name, requirements string) (string, error) {
	dir, err := installed(name, func(dir string) error {
		for _, args := range [][]string{
			{"python3", "-m", "venv", dir},
			{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", requirements},
		} {
			if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w\n%s", args[0], err, out)
			}
		}
		return nil
	})
	return filepath.Join(dir, "bin", "python"), err
}

// javaDriver compiles the driver in a folder of this one, together with what the
// Java drivers share, against the jars of lib, and gives the command that runs it.
// The folder is in the class path for what a library looks for under META-INF.
func javaDriver(ctx context.Context, folder, lib, classes, heap string, arguments ...string) (*exec.Cmd, error) {
	path, err := classPath(lib)
	if err != nil {
		return nil, err
	}
	compile := []string{"-cp", path, "-d", classes}
	for _, dir := range []string{"java", folder} {
		sources, err := filepath.Glob(dir + "/*.java")
		if err != nil {
			return nil, err
		}
		compile = append(compile, sources...)
	}
	if out, err := exec.CommandContext(ctx, "javac", compile...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("javac: %w\n%s", err, out)
	}
	run := append([]string{"-Xmx" + heap, "-cp", strings.Join([]string{classes, folder, path}, string(os.PathListSeparator)), "Driver"}, arguments...)
	return exec.Command("java", run...), nil
}

// checkSums compares every file of a folder with a list of checksums.
func checkSums(dir, sums string) error {
	list, err := os.Open(sums)
	if err != nil {
		return err
	}
	defer list.Close()
	want := map[string]string{}
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		if sum, name, ok := strings.Cut(lines.Text(), "  "); ok {
			want[name] = sum
		}
	}
	have, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(have) != len(want) {
		return fmt.Errorf("%s has %d files, %s lists %d", dir, len(have), sums, len(want))
	}
	for _, f := range have {
		sum, err := sumOf(filepath.Join(dir, f.Name()))
		if err = errors.Join(lines.Err(), err); err != nil {
			return err
		}
		if sum != want[f.Name()] {
			return fmt.Errorf("%s in %s is not the file that %s lists", f.Name(), dir, sums)
		}
	}
	return nil
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
