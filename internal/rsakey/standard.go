//go:build !openssl

package rsakey

import "crypto/rsa"

const backend = "Go"

func wrap(k *rsa.PrivateKey) Key { return k }
