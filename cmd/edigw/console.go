package main

import (
	"strings"
	"time"

	"edigw/web"
	"edigw/web/console"
)

// pages are the console on top of what the API acts through.
func (g *gateway) pages(o web.Options) (*console.Console, error) {
	return console.New(console.Options{
		Options: o, Sessions: g.access, SetUp: g.access, SignedIn: g.access, Alarm: g.alerts, Events: g.store, Zone: time.Local,
		Secure: strings.HasPrefix(string(g.yaml().Listen.Console.BaseURL), "https://"),
	})
}
