package main_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"
)

// What Helm refuses by values.schema.json is what would make a chart that does
// not start, or one that runs otherwise than its values seem to say; what the
// chart's own values say is taken, and the schema names each of them.
func TestHelmValues(t *testing.T) {
	read := func(name string) []byte {
		b, err := os.ReadFile(packaging + "/helm/holdfast/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var schema openapi3.Schema // the part of JSON Schema that the file uses is the same there
	if err := json.Unmarshal(read("values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	values := func(change string) (all map[string]any) {
		t.Helper()
		for _, text := range []string{string(read("values.yaml")), change} {
			if err := yaml.Unmarshal([]byte(text), &all); err != nil {
				t.Fatalf("%s: %v", change, err)
			}
		}
		b, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		all = nil
		if err := json.Unmarshal(b, &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, change := range []string{"", "replicas: 5", "publicURL: http://10.0.0.8:8080", "global: {x: 1}",
		"settings: {log_level: warn, pool_size: 5, demo: false}",
		"image: {repository: registry.example/holdfast, tag: 0.1.0, pullPolicy: Always}"} {
		if err := schema.VisitJSON(values(change)); err != nil {
			t.Errorf("%q: %v", change, err)
		}
	}
	for change, place := range map[string]string{
		"replicaCount: 3":                     "replicaCount",
		`replicas: "3"`:                       "replicas",
		"replicas: 0":                         "replicas",
		"replicas: 1.5":                       "replicas",
		"publicURL: wms.example.com":          "publicURL",
		"publicURL: https://wms.example.com/": "publicURL",
		`secretName: ""`:                      "secretName",
		"secretName: null":                    "secretName",
		"image: {repository: x, pullPolicy: Sometimes}": "pullPolicy",
		"image: {tag: x}":                               "repository",
		"settings: {smtp: {url: x}}":                    "smtp",
		"settings: {database_url: postgres://u:p@db/x}": "database_url",
		"autoscaling: {enabled: yes please}":            "enabled",
		"autoscaling: {enabled: true, cpu: 700}":        "cpu",
		"ingress: {enabled: true, hosts: [a]}":          "hosts",
	} {
		if err := schema.VisitJSON(values(change)); err == nil || !strings.Contains(err.Error(), place) {
			t.Errorf("%q is taken: %v", change, err)
		}
	}
	var named func(path string, v map[string]any, s *openapi3.Schema)
	named = func(path string, v map[string]any, s *openapi3.Schema) {
		for name, x := range v {
			p := s.Properties[name]
			if p == nil {
				t.Errorf("the schema does not name %s%s", path, name)
			} else if inner, ok := x.(map[string]any); ok && name != "settings" && name != "resources" {
				named(path+name+".", inner, p.Value)
			}
		}
	}
	named("", values(""), &schema)
}
