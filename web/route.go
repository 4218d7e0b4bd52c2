package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"edigw/access"
	"edigw/fault"
)

// route is one call of the API: the table of routes serves it, checks who may
// ask, and describes it in /openapi.json.
type route struct {
	method string
	path   string // below Base
	scope  access.Scope
	own    bool    // a token of scope send may too, for what was handed in with it
	local  bool    // over the local socket only: it touches the machine
	about  string  // one line
	query  []param // parameters; any other is refused
	header []param
	in     any // zero value of the JSON body; nil: none
	out    any // zero value of the JSON answer; nil: none
	media  string
	status int
	also   []Slug // problems besides those of every route
	do     func(*call) error
}

// param is a query parameter or header.
type param struct {
	name  string
	about string
	enum  []string
}

// call is one request to a route while it runs.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	actor fault.Actor
	who   identity
}

// routes are all calls of the API.
func (a *API) routes() []route {
	return slices.Concat(a.submitRoutes(), a.messageRoutes(), a.letterRoutes(), a.replayRoutes(), a.outageRoutes(), a.partnerRoutes(),
		a.certificateRoutes(), a.alertRoutes(), a.auditRoutes(), a.tokenRoutes(), a.userRoutes(), a.gatewayRoutes())
}

// serve makes a handler of a route.
func (a *API) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.enter(rt, w, r); err != nil {
			a.refuse(w, r, err)
		}
	})
}

func (a *API) enter(rt route, w http.ResponseWriter, r *http.Request) error {
	who, err := a.identify(r)
	if err != nil {
		return err
	}
	NoteActor(r.Context(), who.actor.Name)
	if err := a.admit(rt, who, r); err != nil {
		return err
	}
	if p, ok := r.Context().Value(keyOfPeer).(peer); rt.local && (!ok || !p.trusted) {
		return &Problem{Slug: Forbidden, Detail: "This can be asked for over the local socket only: use the edigw command on the gateway's machine."}
	}
	query, err := rt.parameters(r)
	if err != nil {
		return err
	}
	return rt.do(&call{w: w, r: r, query: query, actor: who.actor, who: who})
}

// parameters reads the query strictly: a filter with a slip in its name must
// not select everything.
func (rt route) parameters(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("", "The query of the URL cannot be read.")
	}
	for name, values := range query {
		if !utf8.ValidString(name + strings.Join(values, "")) {
			return nil, bad("", "The query of the URL is not UTF-8.")
		}
	}
	for name, values := range query {
		known := slices.ContainsFunc(rt.query, func(p param) bool { return p.name == name })
		switch {
		case !known:
			return nil, bad(Clean(name), "There is no parameter %.80q here.", name)
		case len(values) > 1:
			return nil, bad(name, "Give the parameter once.")
		}
	}
	return query, nil
}

// param is a part of the path.
func (c *call) param(name string) string {
	value := chi.URLParam(c.r, name)
	if c.r.URL.RawPath != "" {
		if plain, err := url.PathUnescape(value); err == nil {
			return plain
		}
	}
	return value
}

// read reads a JSON body into v; an empty one leaves v as it is.
func (c *call) read(v any) error { return c.readAtMost(v, maxBody) }

// readAtMost is read with another bound of the body in bytes.
func (c *call) readAtMost(v any, limit int64) error {
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))    // deadlines of connections are wall clock
	defer func() { _ = control.SetReadDeadline(time.Time{}) }() // else it would end a long action
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return bad("", "The body broke off.")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if !utf8.Valid(body) { // RFC 8259 §8.1; encoding/json would put other characters in their place
		return bad("", "The body is not UTF-8.")
	}
	if err := json.Unmarshal(body, v); err != nil {
		return unreadable(err)
	}
	if name := stray(body, v); name != "" {
		return bad(Clean(name), "There is no member of this name.")
	}
	return nil
}

// unreadable says what is wrong with a JSON body, without its values.
func unreadable(err error) *Problem {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return bad(kind.Field, "This member must be %s.", jsonName(kind.Type))
	}
	return bad("", "The body is not JSON of the form that this call takes.")
}

// jsonName says what JSON a Go type is read from.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}

// stray is a member of a JSON object that v, a pointer to a struct, does not
// have; "" if there is none.
func stray(body []byte, v any) string {
	return strayIn(body, reflect.TypeOf(v).Elem(), "")
}

func strayIn(body []byte, t reflect.Type, under string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return ""
	}
	known := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = f.Type
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		inner, ok := known[name]
		if !ok || name == "" {
			return under + name
		}
		if inner.Kind() == reflect.Struct {
			if found := strayIn(members[name], inner, name+"."); found != "" {
				return found
			}
		}
	}
	return ""
}

// answer writes v as JSON.
func (c *call) answer(status int, v any) error {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // Message-IDs have angle brackets
	if err := e.Encode(v); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body.Bytes()) // an error means that the client is gone
	return nil
}
