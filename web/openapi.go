package web

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// general are the problems that every route may answer with.
var general = []Slug{BadRequest, Unauthorized, Forbidden, Stopping, Internal}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// describe writes the OpenAPI description of the routes. Its schemas come from
// the types that the routes read and write, so it cannot drift from them.
func describe(routes []route, version string) ([]byte, error) {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	doc := &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: "edigw", Version: version, Description: "Delivery gateway: documents in, letters, lanes, partners. Times are RFC 3339 in UTC."},
		Servers:    []*huma.Server{{URL: Base}},
		Security:   []map[string][]string{{"token": {}}},
		Components: &huma.Components{Schemas: schemas, SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}},
	}
	for _, r := range routes {
		doc.AddOperation(r.operation(schemas))
	}
	out, err := doc.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("web: describe the API: %w", err)
	}
	return out, nil
}

// schemaName is a type's name without the brackets of its parameters:
// list[letter] is LetterList.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if item, ok := strings.CutPrefix(name, "List"); ok && item != "" {
		return item + "List"
	}
	return name
}

func (rt route) operation(schemas huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: rt.method, Path: rt.path, Summary: rt.about, Tags: []string{strings.Split(rt.path, "/")[1]},
		OperationID: strings.ToLower(rt.method) + strings.NewReplacer("/", "-", "{", "", "}", "").Replace(rt.path),
		Responses:   map[string]*huma.Response{},
	}
	if rt.scope != "" {
		op.Description = "Needs the scope " + string(rt.scope) + "."
		if rt.own {
			op.Description += " A token of scope send reads what was handed in with it."
		}
	}
	for _, m := range pathParam.FindAllStringSubmatch(rt.path, -1) {
		op.Parameters = append(op.Parameters, &huma.Param{Name: m[1], In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, p := range rt.query {
		op.Parameters = append(op.Parameters, p.describe("query"))
	}
	for _, p := range rt.header {
		op.Parameters = append(op.Parameters, p.describe("header"))
	}
	op.RequestBody = rt.body(schemas)
	op.Responses[strconv.Itoa(rt.status)] = rt.response(schemas)
	problem := map[string]*huma.MediaType{"application/problem+json": {Schema: schemas.Schema(reflect.TypeFor[problemView](), true, "")}}
	for _, s := range append(append([]Slug{}, general...), rt.also...) {
		status := strconv.Itoa(slugs[s].status)
		if was := op.Responses[status]; was != nil {
			was.Description += ", " + string(s)
			continue
		}
		op.Responses[status] = &huma.Response{Description: string(s), Content: problem}
	}
	return op
}

func (p param) describe(in string) *huma.Param {
	s := &huma.Schema{Type: huma.TypeString}
	about := p.about
	if len(p.enum) > 0 {
		about += "; of " + strings.Join(p.enum, ", ")
	}
	return &huma.Param{Name: p.name, In: in, Description: about, Schema: s}
}

// body is what a route reads: JSON, or bytes where its answer is not.
func (rt route) body(schemas huma.Registry) *huma.RequestBody {
	switch {
	case rt.in != nil:
		return &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(reflect.TypeOf(rt.in), true, "")}}}
	case rt.method == http.MethodPost && rt.media != "":
		return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{rt.media: {Schema: binary()}}}
	}
	return nil
}

func (rt route) response(schemas huma.Registry) *huma.Response {
	out := &huma.Response{Description: http.StatusText(rt.status)}
	switch {
	case rt.out != nil:
		out.Content = map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(reflect.TypeOf(rt.out), true, "")}}
	case rt.media != "":
		out.Content = map[string]*huma.MediaType{rt.media: {Schema: binary()}}
	}
	return out
}

func binary() *huma.Schema { return &huma.Schema{Type: huma.TypeString, Format: "binary"} }
