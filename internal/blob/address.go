package blob

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Open opens the store that an address names: "" is the directory beside,
// file:///path another one, s3://KEY:SECRET@host/bucket/prefix a bucket that
// uses the directory beside as its spool.
func Open(ctx context.Context, address, beside string) (Store, error) {
	if address == "" {
		return OpenDir(beside)
	}
	if path, ok := strings.CutPrefix(address, "file://"); ok {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("blob: %q names no absolute path: write file:///path", address)
		}
		return OpenDir(path)
	}
	a, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	return OpenBucket(ctx, a, beside)
}

// Address says where a bucket is and with which key. Without a key the
// environment's AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are used, or the
// role of the machine.
type Address struct {
	Host   string // with port
	Bucket string
	Prefix string // "" or with a slash at its end
	Region string // "" = asked for
	Key    string
	Secret string
	Plain  bool // http, for a store on this machine or a closed network
	InPath bool // the bucket stands in the path
	InHost bool // the bucket stands in the host's name; neither = as the host is known to want it
}

// ParseAddress reads s3://KEY:SECRET@host:port/bucket/prefix with the
// parameters region, tls (on, off) and lookup (path, host). No error repeats
// the secret.
func ParseAddress(text string) (Address, error) {
	bad := func(what string) (Address, error) {
		return Address{},
			fmt.Errorf("blob: the address of the file store %s: it looks like s3://KEY:SECRET@host/bucket/prefix?region=eu-central-1 or file:///path", what)
	}
	u, err := url.Parse(text)
	if err != nil {
		return bad("cannot be read")
	}
	bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	switch {
	case u.Scheme != "s3":
		return bad("begins with neither s3:// nor file://")
	case u.Host == "":
		return bad("names no host")
	case bucket == "":
		return bad("names no bucket")
	}
	a := Address{Host: u.Host, Bucket: bucket, Key: u.User.Username()}
	a.Secret, _ = u.User.Password()
	if (a.Key == "") != (a.Secret == "") {
		return bad("has a key without its secret")
	}
	if prefix != "" {
		a.Prefix = prefix + "/"
	}
	for name, v := range u.Query() {
		switch value := v[len(v)-1]; name + "=" + value {
		case "tls=on":
		case "tls=off":
			a.Plain = true
		case "lookup=path":
			a.InPath = true
		case "lookup=host":
			a.InHost = true
		default:
			if name != "region" {
				return bad(fmt.Sprintf("has %s=%s, which is none of region, tls=on|off, lookup=path|host", name, value))
			}
			a.Region = value
		}
	}
	return a, nil
}

func (a Address) clientOptions() *minio.Options {
	o := &minio.Options{Secure: !a.Plain, Region: a.Region}
	if a.InPath {
		o.BucketLookup = minio.BucketLookupPath
	} else if a.InHost {
		o.BucketLookup = minio.BucketLookupDNS
	}
	if a.Key != "" {
		o.Creds = credentials.NewStaticV4(a.Key, a.Secret, "")
	} else {
		o.Creds = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{}})
	}
	return o
}
