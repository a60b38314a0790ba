package imports_test

import (
	"bytes"
	"context"
	"fmt"
	"holdfast/internal/db"
	"runtime"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	each(t, func(k *kit) {
		k.imported("items", "", "", "i.csv", benchFile(2000))
		var z, s, in bytes.Buffer
		z.WriteString("code,name\n")
		for i := range 500 {
			fmt.Fprintf(&z, "Z-%d,z\n", i)
		}
		k.imported("zones", "", "", "z.csv", z.Bytes())
		s.WriteString("sku,location,qty,lot,expiry\n")
		for i := range 20000 {
			fmt.Fprintf(&s, "SKU-%06d,Z-%d,3,L%d,2027-01-02\n", (i%2000*7919)%1000000, i%500, i%7)
		}
		in.WriteString("date,title,severity\n")
		for i := range 20000 {
			fmt.Fprintf(&in, "2026-01-01,t%d,low\n", i)
		}
		up := bytes.ReplaceAll(benchFile(2000), []byte("Item number"), []byte("Thing number"))
		for _, c := range []struct {
			t string
			f []byte
		}{{"stock_movements", s.Bytes()}, {"incidents", in.Bytes()}, {"items", up}} {
			job := k.upload(c.t, "", "", "x.csv", c.f)
			a := time.Now()
			p := k.process(job)
			b := time.Now()
			k.apply(job)
			d := time.Now()
			r, err := k.m.Rollback(context.Background(), k.as, job.ID)
			e := time.Now()
			fmt.Println(c.t, p.Stats, "process", b.Sub(a), "apply", d.Sub(b), "rollback", e.Sub(d), r != nil, err)
		}
	})
}
func TestZMem(t *testing.T) {
	for _, n := range []int{20000, 200000} {
		k := open(t, db.Options{Dir: t.TempDir(), Migrate: true})
		f := benchFile(n)
		job := k.upload("items", "", "", "x.csv", f)
		f = nil
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		base := m.HeapInuse
		peak := uint64(0)
		stop := make(chan bool)
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					if m.HeapInuse > peak {
						peak = m.HeapInuse
					}
				}
			}
		}()
		k.process(job)
		p1 := peak
		k.apply(job)
		p2 := peak
		_, err := k.m.Rollback(context.Background(), k.as, job.ID)
		close(stop)
		fmt.Println(n, "base", base>>20, "process", p1>>20, "apply", p2>>20, "rollback", peak>>20, err)
	}
}
