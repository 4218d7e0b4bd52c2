package main

import (
	"net/http"
	"net/url"
	"strings"
)

// propertyHeaders are the properties of a document as the API takes them.
func propertyHeaders(message, part []string) (http.Header, error) {
	header := http.Header{}
	for _, side := range []struct {
		option, header string
		list           []string
	}{{"--property", "Message-Property", message}, {"--part-property", "Part-Property", part}} {
		for _, text := range side.list {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" || value == "" {
				return nil, wrong("%s %q is no property: write NAME=VALUE", side.option, text)
			}
			header.Add(side.header, url.PathEscape(name)+"="+url.PathEscape(value))
		}
	}
	return header, nil
}
