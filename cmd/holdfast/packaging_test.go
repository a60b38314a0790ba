package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/testkit/program"
)

const packaging = "../../packaging"

// The unit is well formed and leaves the service little: at most 2 of 10 on the
// scale of systemd's own analyser.
func TestSystemdUnit(t *testing.T) {
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20",
		packaging+"/systemd/holdfast.service").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// systemd is told when the server is ready, that it lives, and that it stops.
func TestSystemdNotified(t *testing.T) {
	s := program.Embedded(t)
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := s.Command([]string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=400000"}, "serve", "--listen", "127.0.0.1:0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	l.SetReadDeadline(time.Now().Add(time.Minute))
	said := func() string {
		b := make([]byte, 100)
		n, err := l.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got := said(); got != "READY=1" {
		t.Errorf("first it says %s", got)
	}
	for range 3 {
		if got := said(); got != "WATCHDOG=1" {
			t.Errorf("then %s", got)
		}
	}
	cmd.Process.Signal(os.Interrupt)
	for got := said(); got != "STOPPING=1"; got = said() {
		if got != "WATCHDOG=1" {
			t.Fatalf("at the end %s", got)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// The Debian package holds the program, its unit, manual pages and completions,
// each where the distribution looks for it.
func TestDebianPackage(t *testing.T) {
	out := t.TempDir()
	build := exec.Command(packaging+"/deb/build", program.Path(t), "0.1.0", "amd64", out)
	build.Env = append(os.Environ(), "DPKG_DEB_COMPRESSOR_TYPE=gzip",
		"DPKG_DEB_COMPRESSOR_LEVEL=1") // what is in it matters here, not its size
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	root := filepath.Join(out, "root")
	if text, err := exec.Command("dpkg-deb", "-x", filepath.Join(out, "holdfast_0.1.0_amd64.deb"),
		root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, path := range []string{
		"usr/bin/holdfast", "lib/systemd/system/holdfast.service", "usr/lib/sysusers.d/holdfast.conf",
		"etc/holdfast/holdfast.conf",
		"etc/holdfast/credentials", "usr/share/man/man1/holdfast.1.gz", "usr/share/man/man1/holdfast-backup.1.gz",
		"usr/share/bash-completion/completions/holdfast", "usr/share/doc/holdfast/copyright",
		"usr/share/doc/holdfast/grafana/alerts.yaml",
	} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error(err)
		}
	}
	dump := exec.Command(filepath.Join(root, "usr/bin/holdfast"), "--config",
		filepath.Join(root, "etc/holdfast/holdfast.conf"), "config", "dump")
	dump.Env = program.Environ()
	if text, err := dump.CombinedOutput(); err != nil {
		t.Errorf("the settings of the package: %v\n%s", err, text)
	}
}

// Manual pages are legible, and completions those of a shell.
func TestManualAndCompletion(t *testing.T) {
	s := program.Embedded(t)
	dir := t.TempDir()
	s.Exec("gen", "man", dir)
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	if len(pages) < 20 {
		t.Errorf("%d pages", len(pages))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil || !bytes.HasPrefix(text, []byte(".TH ")) || !bytes.Contains(text, []byte(".SH SYNOPSIS")) {
			t.Errorf("%s: %v", page, err)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := s.Exec("completion", shell); !strings.Contains(out, "holdfast") {
			t.Errorf("%s: %.100s", shell, out)
		}
	}
}

// functions are those of Helm's that the chart uses.
func functions(render func(name string, data any) (string, error)) template.FuncMap {
	indent := func(n int, s string) string {
		return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
	}
	return template.FuncMap{
		"include": render, "nindent": indent, "quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"upper": strings.ToUpper, "fail": func(why string) (string, error) { return "", errors.New(why) },
		"default": func(d, v any) any {
			if v == nil || v == "" {
				return d
			}
			return v
		},
		"toYaml": func(v any) (string, error) {
			b, err := yaml.Marshal(v)
			return strings.TrimSpace(string(b)), err
		},
	}
}

// chart renders the Helm chart with changes of its values, and files in a bucket.
func chart(t *testing.T, change func(values map[string]any)) []map[string]any {
	t.Helper()
	objects, err := renderChart(t, func(v map[string]any) {
		v["files"].(map[string]any)["inSecret"] = true
		change(v)
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// renderChart renders the Helm chart with changes of its values.
func renderChart(t *testing.T, change func(values map[string]any)) (objects []map[string]any, _ error) {
	t.Helper()
	var values, about map[string]any
	for path, into := range map[string]*map[string]any{"values.yaml": &values, "Chart.yaml": &about} {
		b, err := os.ReadFile(packaging + "/helm/holdfast/" + path)
		if err == nil {
			err = yaml.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(values)
	root := template.New("").Option("missingkey=error")
	root.Funcs(functions(func(name string, data any) (string, error) {
		var b strings.Builder
		err := root.ExecuteTemplate(&b, name, data)
		return b.String(), err
	}))
	template.Must(root.ParseGlob(packaging + "/helm/holdfast/templates/*"))
	data := map[string]any{"Values": values, "Chart": map[string]any{"AppVersion": about["appVersion"]},
		"Release": map[string]any{"Name": "wms", "Revision": 3}}
	for _, name := range []string{"deployment.yaml", "migrate.yaml", "service.yaml"} {
		var b bytes.Buffer
		if err := root.ExecuteTemplate(&b, name, data); err != nil {
			return nil, err
		}
		dec := yaml.NewDecoder(&b)
		for {
			var o map[string]any
			if err := dec.Decode(&o); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// The chart refuses to keep evidence in a pod: files are in a bucket, or on a claim that is
// mounted where the server looks for them.
func TestHelmChartKeepsFiles(t *testing.T) {
	if _, err := renderChart(t, func(map[string]any) {}); err == nil || !strings.Contains(err.Error(), "files.claim") {
		t.Errorf("without a place for files: %v", err)
	}
	objects, err := renderChart(t, func(v map[string]any) { v["files"].(map[string]any)["claim"] = "evidence" })
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(objects[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"claimName: evidence", "mountPath: /files", "value: file:///files"} {
		if !strings.Contains(string(text), word) {
			t.Errorf("the pods lack %q", word)
		}
	}
}

// The chart renders into objects whose parts fit one another: the service and
// the budget select the pods, settings are ones that there are, nothing runs as
// root, and the schema is migrated by the job alone.
func TestHelmChart(t *testing.T) {
	kinds := func(list []map[string]any) string {
		var out []string
		for _, o := range list {
			out = append(out, fmt.Sprint(o["kind"]))
		}
		return strings.Join(out, " ")
	}
	small := chart(t, func(map[string]any) {})
	if got, want := kinds(small), "Deployment Job Service PodDisruptionBudget"; got != want {
		t.Errorf("by default %s, want %s", got, want)
	}
	all := chart(t, func(v map[string]any) {
		v["ingress"].(map[string]any)["enabled"] = true
		v["autoscaling"].(map[string]any)["enabled"] = true
	})
	if got, want := kinds(all), "Deployment Job Service PodDisruptionBudget HorizontalPodAutoscaler Ingress"; got != want {
		t.Errorf("with everything %s, want %s", got, want)
	}
	text, err := yaml.Marshal(small)
	if err != nil {
		t.Fatal(err)
	}
	dump := program.Embedded(t).Exec("config", "dump")
	for _, m := range regexp.MustCompile(`HOLDFAST_([A-Z_]+)`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(dump, "\n"+strings.ToLower(m[1])+" = ") {
			t.Errorf("%s is no setting", m[0])
		}
	}
	for _, word := range []string{"runAsNonRoot: true", "readOnlyRootFilesystem: true", "image: holdfast:0.1.0",
		"path: /readyz", "timeoutSeconds: 4"} { // longer than /readyz waits for the database
		if !strings.Contains(string(text), word) {
			t.Errorf("the objects lack %q", word)
		}
	}
	pod := fmt.Sprint(small[0]["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["labels"])
	if got := fmt.Sprint(small[2]["spec"].(map[string]any)["selector"]); got != pod {
		t.Errorf("the service selects %s, the pods are %s", got, pod)
	}
}

// The compose file and the image speak of settings and files that there are.
func TestContainerFiles(t *testing.T) {
	b, err := os.ReadFile(packaging + "/container/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Services map[string]struct {
			Environment map[string]string
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
			Healthcheck map[string]any
		}
	}
	if err := yaml.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	dump := program.Embedded(t).Exec("config", "dump")
	own := c.Services["holdfast"]
	for name := range own.Environment {
		setting := strings.ToLower(strings.TrimPrefix(name, "HOLDFAST_"))
		if !strings.Contains(dump, "\n"+setting+" = ") &&
			!strings.Contains(dump, "\n"+strings.TrimSuffix(setting, "_file")+" = ") {
			t.Errorf("%s is no setting", name)
		}
	}
	for name, d := range own.DependsOn {
		if d.Condition != "service_healthy" || c.Services[name].Healthcheck == nil {
			t.Errorf("%s is not waited for until it is healthy", name)
		}
	}
	docker, err := os.ReadFile(packaging + "/container/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"FROM scratch", "USER 65532:65532", `"/holdfast", "healthcheck"`, "CGO_ENABLED=0"} {
		if !bytes.Contains(docker, []byte(word)) {
			t.Errorf("the Dockerfile lacks %q", word)
		}
	}
}

// Every series that the dashboard and the alerts ask for is served.
func TestDashboardAndAlerts(t *testing.T) {
	s := program.Embedded(t)
	admin := program.ClosedPort(t)
	v := s.Serve("--admin-listen", admin, "--rate-limits", "on", "--log-level", "info")
	for range 220 { // some are refused
		v.Call("GET", "/v1/zones", "", nil)
	}
	served := program.Metrics(t, admin)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	b, err := os.ReadFile(packaging + "/grafana/dashboard.json")
	if err == nil {
		err = json.Unmarshal(b, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]string{}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			asked[x.Expr] = p.Title
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	if b, err = os.ReadFile(packaging + "/grafana/alerts.yaml"); err == nil {
		err = yaml.Unmarshal(b, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules.Groups[0].Rules {
		asked[r.Expr] = r.Alert
		if r.Annotations["summary"] == "" {
			t.Errorf("%s says nothing", r.Alert)
		}
	}
	for expr, where := range asked {
		names := regexp.MustCompile(`\b(holdfast|go|process)_[a-z_]+`).FindAllString(expr, -1)
		if len(names) == 0 {
			t.Errorf("%s asks for nothing: %s", where, expr)
		}
		for _, n := range names {
			base := strings.TrimSuffix(n, "_bucket")
			if !strings.Contains(served, "# TYPE "+base+" ") {
				t.Errorf("%s asks for %s, which is not served", where, n)
			}
		}
	}
	v.Stop()
}

// What the unit loads with LoadCredential reaches the server as systemd hands a
// directory over: files that the owner alone reads, each named after the
// credential and itself. Nothing of it is shown or written down.
func TestSystemdCredentials(t *testing.T) {
	unit, err := os.ReadFile(packaging + "/systemd/holdfast.service")
	if err != nil {
		t.Fatal(err)
	}
	loaded := regexp.MustCompile(`(?m)^LoadCredential=(\w+):/etc/holdfast/credentials$`).FindSubmatch(unit)
	if loaded == nil {
		t.Fatal("the unit loads no credentials")
	}
	program.EachDemo(t, func(s *program.Site) {
		dir, own := s.TempDir(), s.MasterKeyFile()
		key, err := os.ReadFile(own)
		if err != nil {
			s.Fatal(err)
		}
		secrets := map[string]string{
			"master_key": string(key), "backup_passphrase": program.BackupPassphrase + "\n",
			"smtp_url": "smtp://u:canary-of-mail@127.0.0.1:1",
		}
		if s.DSN != "" {
			secrets["database_url"], s.DSN = s.DSN, ""
		}
		for name, text := range secrets {
			if err := os.WriteFile(filepath.Join(dir, string(loaded[1])+"_"+name), []byte(text), 0o400); err != nil {
				s.Fatal(err)
			}
		}
		if err := os.Remove(own); err != nil {
			s.Fatal(err)
		}
		in := []string{"CREDENTIALS_DIRECTORY=" + dir}
		v := s.ServeAs(func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, in...) }, "--dev")
		v.Token("admin@north.example", "holdfast-demo") // its key was sealed with the master key
		if _, err := os.Stat(own); err == nil {
			s.Error("a master key of the server's own was made")
		}
		backup := filepath.Join(s.TempDir(), "x.backup")
		if o := s.Finish(s.Command(in, "backup", backup), ""); o.Code != 0 {
			s.Errorf("a backup with the credential's passphrase: %s", o)
		}
		dump := s.Finish(s.Command(in, "config", "dump"), "")
		for name, text := range secrets {
			secret := strings.TrimSpace(text)
			if strings.Contains(dump.Out+dump.Err+v.Out.String(), secret) || strings.Contains(dump.Out, "canary-of-mail") {
				s.Errorf("%s is shown", name)
			}
		}
		v.Stop()
		if o := s.Finish(s.Command(nil, "keys", "rotate"), ""); o.Code == 0 && secrets["database_url"] == "" {
			s.Error("the services open without the credential")
		}
	})
}
