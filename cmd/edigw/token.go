package main

import (
	"strings"
	"time"
)

// TokenCmds are about API tokens. Without a running gateway they work on its
// data folder.
type TokenCmds struct {
	New    TokenNew    `cmd:"" help:"Make a token; it is printed once."`
	List   TokenList   `cmd:"" help:"Names and scopes."`
	Revoke TokenRevoke `cmd:"" help:"End a token; it holds from the next request on."`
}

// TokenNew makes a token.
type TokenNew struct {
	Name  string   `arg:"" help:"Who or what uses it."`
	Scope []string `required:"" enum:"send,read,operate,admin" help:"send, read, operate, admin; several with commas."`
}

// Help is shown by --help.
func (TokenNew) Help() string { return "Example:\n  edigw token new erp --scope send,read" }

// Run prints the token.
func (c *TokenNew) Run(e *env) error {
	return e.withAccounts(func(a accounts) error {
		token, err := a.NewToken(e.ctx, c.Name, c.Scope)
		if err != nil {
			return err
		}
		e.say("%s", token)
		return e.result(map[string]string{"token": token})
	})
}

// TokenList lists tokens.
type TokenList struct{}

// Help is shown by --help.
func (TokenList) Help() string {
	return "Example:\n  edigw token list"
}

// Run prints them.
func (TokenList) Run(e *env) error {
	var list []tokenView
	err := e.withAccounts(func(a accounts) (err error) {
		list, err = a.Tokens(e.ctx)
		return err
	})
	if err != nil {
		return err
	}
	var rows [][]string
	for _, t := range list {
		rows = append(rows, []string{t.Name, strings.Join(t.Scopes, ","), local(t.Created), local(t.Used)})
	}
	e.table("NAME\tSCOPES\tCREATED\tLAST USED", rows)
	return e.result(page[tokenView]{Items: list})
}

// TokenRevoke ends a token.
type TokenRevoke struct {
	Name string `arg:"" help:"The token's name."`
}

// Help is shown by --help.
func (TokenRevoke) Help() string {
	return "Example:\n  edigw token revoke erp"
}

// Run does it.
func (c *TokenRevoke) Run(e *env) error {
	if err := e.withAccounts(func(a accounts) error { return a.RevokeToken(e.ctx, c.Name) }); err != nil {
		return err
	}
	e.say("%s is revoked", c.Name)
	return e.result(map[string]string{"revoked": c.Name})
}

// UserCmds are about the console's users.
type UserCmds struct {
	Add    UserAdd    `cmd:"" help:"Add a user."`
	Passwd UserPasswd `cmd:"" help:"Set a password; also ends a lock-out."`
	List   UserList   `cmd:"" help:"Names and roles."`
	Remove UserRemove `cmd:"" help:"Remove a user."`
}

// UserAdd adds a user.
type UserAdd struct {
	Name         string `arg:"" help:"Name to sign in with."`
	Role         string `required:"" enum:"viewer,operator,admin" help:"viewer, operator or admin."`
	Payloads     bool   `help:"May see the content of documents, too; every view is noted."`
	PasswordFile string `name:"password-file" type:"existingfile" help:"File with the password; default: asked for."`
}

// Help is shown by --help.
func (UserAdd) Help() string { return "Example:\n  edigw user add kim --role operator" }

// Run adds the user.
func (c *UserAdd) Run(e *env) error {
	password, err := e.password(c.PasswordFile)
	if err != nil {
		return err
	}
	if err := e.withAccounts(func(a accounts) error { return a.AddUser(e.ctx, newUser{c.Name, c.Role, c.Payloads}, password) }); err != nil {
		return err
	}
	e.say("%s may sign in now, as %s", c.Name, c.Role)
	return e.result(map[string]string{"name": c.Name, "role": c.Role})
}

// UserPasswd sets a password.
type UserPasswd struct {
	Name         string `arg:"" help:"The user's name."`
	PasswordFile string `name:"password-file" type:"existingfile" help:"File with the password; default: asked for."`
}

// Help is shown by --help.
func (UserPasswd) Help() string {
	return "Example:\n  edigw user passwd kim"
}

// Run sets it.
func (c *UserPasswd) Run(e *env) error {
	password, err := e.password(c.PasswordFile)
	if err != nil {
		return err
	}
	if err := e.withAccounts(func(a accounts) error { return a.SetPassword(e.ctx, c.Name, password) }); err != nil {
		return err
	}
	e.say("The password of %s is changed", c.Name)
	return e.result(map[string]string{"name": c.Name})
}

// UserList lists users.
type UserList struct{}

// Help is shown by --help.
func (UserList) Help() string {
	return "Example:\n  edigw user list"
}

// Run prints them.
func (UserList) Run(e *env) error {
	var list []userView
	err := e.withAccounts(func(a accounts) (err error) {
		list, err = a.Users(e.ctx)
		return err
	})
	if err != nil {
		return err
	}
	var rows [][]string
	for _, u := range list {
		content := "no"
		if u.Payloads {
			content = "yes"
		}
		rows = append(rows, []string{u.Name, u.Role, content, local(u.Created)})
	}
	e.table("NAME\tROLE\tCONTENT\tCREATED", rows)
	return e.result(page[userView]{Items: list})
}

// UserRemove removes a user.
type UserRemove struct {
	Name string `arg:"" help:"The user's name."`
}

// Help is shown by --help.
func (UserRemove) Help() string {
	return "Example:\n  edigw user remove kim"
}

// Run does it.
func (c *UserRemove) Run(e *env) error {
	if err := e.withAccounts(func(a accounts) error { return a.RemoveUser(e.ctx, c.Name) }); err != nil {
		return err
	}
	e.say("%s is removed", c.Name)
	return e.result(map[string]string{"removed": c.Name})
}

type tokenView struct {
	Name    string    `json:"name"`
	Scopes  []string  `json:"scopes"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used,omitzero"`
}

type userView struct {
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	Payloads bool      `json:"payloads"`
	Created  time.Time `json:"created"`
}
