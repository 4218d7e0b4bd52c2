// Command edigw is the delivery gateway, and everything that operators do with
// it from a terminal. It is the composition root: the only place that knows
// every package. It decides nothing about documents.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by deploy/build.sh.
var version = "dev"

// product is who we say we are to partners.
func product() string { return "edigw/" + version }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// commands is the command line (interfaces.md §4).
type commands struct {
	Config string `short:"c" env:"EDIGW_CONFIG" default:"edigw.yaml" help:"Settings of the installation."`
	URL    string `env:"EDIGW_URL" help:"Console address of a running gateway; default: its local socket."`
	Token  string `env:"EDIGW_TOKEN" help:"API token for --url."`
	JSON   bool   `name:"json" help:"Print JSON for machines."`

	Serve   ServeCommand   `cmd:"" help:"Run the gateway."`
	Reload  ReloadCommand  `cmd:"" help:"Take changed settings into use."`
	Demo    DemoCommand    `cmd:"" help:"Play the story of a day with pretend partners on this machine."`
	Init    InitCommand    `cmd:"" help:"Make an installation that runs as it is."`
	Check   CheckCommand   `cmd:"" help:"Show every mistake in the settings, and each partner's schedule in words."`
	Send    SendCommand    `cmd:"" help:"Hand a document in."`
	DLQ     DLQCommands    `cmd:"" name:"dlq" help:"Dead letters: list, show, replay, recheck, settle, discard."`
	Message MessageCmds    `cmd:"" help:"Messages: list, show, trace, evidence, cancel, again."`
	Partner PartnerCmds    `cmd:"" help:"Trading partners: list, show, new, test, stop, start."`
	Breaker BreakerCmds    `cmd:"" help:"Breakers: trip, reset."`
	Cert    CertCmds       `cmd:"" help:"Certificates: list, new, import, export, check."`
	User    UserCmds       `cmd:"" help:"Console users: add, passwd, list, remove."`
	Access  TokenCmds      `cmd:"" name:"token" help:"API tokens: new, list, revoke."`
	Backup  BackupCommand  `cmd:"" help:"Write a consistent copy of a running gateway's data."`
	Restore RestoreCommand `cmd:"" help:"Fill an empty data folder from a backup."`
	Doctor  DoctorCommand  `cmd:"" help:"Check this installation: settings, disk, keys, clock, connections."`
	Health  HealthCommand  `cmd:"" help:"Ask whether the gateway lives, for health checks and scripts."`
	Version VersionCommand `cmd:"" help:"Print the version."`
}

// run is main with everything passed in, and gives the exit code.
func run(ctx context.Context, args []string, in io.Reader, stdout, stderr io.Writer) int {
	var c commands
	exit := -1
	parser, err := kong.New(&c, kong.Name("edigw"), kong.Writers(stdout, stderr),
		kong.Description("Delivery gateway for AS2 and AS4: every partner a lane of its own, nothing accepted is lost, nothing takes effect twice."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(code int) { exit = code }))
	if err != nil {
		fmt.Fprintln(stderr, "edigw:", err)
		return exitFailed
	}
	k, err := parser.Parse(args)
	if exit >= 0 { // --help
		return exit
	}
	if err != nil {
		fmt.Fprintf(stderr, "edigw: %v (see %s --help)\n", err, asked(err))
		return exitUse
	}
	e := &env{output: &output{json: c.JSON, out: stdout, err: stderr, in: in}, ctx: ctx, config: c.Config, url: c.URL, token: c.Token}
	return finish(stderr, k.Run(e, e.output))
}

// asked is the command that was used wrongly.
func asked(err error) string {
	p, ok := errors.AsType[*kong.ParseError](err)
	if !ok || p.Context == nil {
		return "edigw"
	}
	name := "edigw"
	for _, step := range p.Context.Path {
		if step.Command != nil {
			name += " " + step.Command.Name
		}
	}
	return name
}

// finish prints an error and gives its exit code.
func finish(stderr io.Writer, err error) int {
	if err == nil {
		return exitFine
	}
	code := exitFailed
	var c *codeError
	if errors.As(err, &c) {
		code = c.code
	}
	switch text := err.Error(); {
	case text == "": // everything was said
	case strings.HasPrefix(text, "edigw "): // it names us itself
		fmt.Fprintln(stderr, text)
	default:
		fmt.Fprintln(stderr, "edigw:", text)
	}
	return code
}

// VersionCommand prints the version.
type VersionCommand struct{}

// Help is shown by --help.
func (VersionCommand) Help() string {
	return "Example:\n  edigw version"
}

// Run prints it.
func (VersionCommand) Run(out *output) error {
	out.say("edigw %s", version)
	return out.result(map[string]string{"version": version})
}
