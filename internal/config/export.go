package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Export lists the settings that have another value than the default as lines of
// a configuration file, with their secrets: for a backup, which is encrypted.
// The passphrase of that is left out.
func (c *Config) Export() string {
	var b strings.Builder
	usual, err := Load("", nil, nil)
	if err != nil { // the defaults are acceptable, a test holds it
		usual = &Config{}
	}
	now, before := c.settingValues(), usual.settingValues()
	for i, s := range Settings() {
		is, was := now[i].Interface(), before[i].Interface()
		if s.Hidden {
			for _, p := range c.OAuthProviders {
				p.exportTo(&b)
			}
			continue
		}
		text := fmt.Sprint(is)
		if parts, ok := is.([]string); ok {
			text = strings.Join(parts, ",")
		}
		if s.Name != "backup_passphrase" && !reflect.DeepEqual(is, was) {
			fmt.Fprintf(&b, "%s = %s\n", s.Name, text)
		}
	}
	return b.String()
}

func (p Provider) exportTo(b *strings.Builder) {
	for _, part := range providerParts {
		v := *part.of(&p)
		if v == "" || part.secret && p.PrivateKeyFile != "" {
			continue
		}
		fmt.Fprintf(b, "oauth_%s_%s = %s\n", p.Name, part.name, v)
	}
}

// outside are the settings that name something outside the data directory which the
// original of a backup may still use.
var outside = []string{"database_url", "redis_url", "blob_url", "smtp_url", "sms_url", "backup_to", "backup_log"}

// ForCopy makes comments of the lines of an exported configuration that name what is
// outside the data directory: a restored copy beside the original must not use it by
// mistake.
func ForCopy(exported string) string {
	var b strings.Builder
	for line := range strings.Lines(exported) {
		name, _, _ := strings.Cut(line, " = ")
		if slices.Contains(outside, name) {
			b.WriteString("# the original's: ")
		}
		b.WriteString(line)
	}
	return b.String()
}
