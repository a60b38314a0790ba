package store_test
import ("testing";"context";"fmt";"holdfast/internal/db";"holdfast/internal/actor";"holdfast/internal/query";"holdfast/internal/testkit/pgtest")
func TestZZ(t *testing.T){
 for _, o := range []db.Options{{URL: pgtest.DSN(t), Migrate: true},{Dir:t.TempDir(),Migrate:true}} {
 k := openKit(t, o)
 fillOrders(k, 20000)
 m := as(north, actor.Manager)
 k.must(m,"POST","items","",`{"id":"`+id(1)+`","sku":"s","name":"n"}`)
 if o.URL!="" { d,_:=db.Open(context.Background(),o); _ = d; }
 for _, path := range []string{"orders?status=eq.draft&order=id.desc&limit=50&select=id,order_no,order_lines(line_no)","orders?id=eq."+id(1),"orders?order=created_at.desc&limit=50","orders?select=id,order_lines!inner(id)&limit=10", "orders?limit=10&promised_at=gt.2026-03-05&order=promised_at"} {
  req,_ := query.Parse(path[len("orders?"):]); r,_ := k.cat.Get("orders")
  q, err := query.BindSelect(k.cat, m, r, req); if err!=nil {t.Fatal(err)}
  sts := []query.Statement{q.Rows(k.d)}
  for _, e := range q.Root.Embeds { sts = append(sts, e.Rows(k.d, []string{id(1),id(2)})) }
  for _, st := range sts {
   fmt.Println("--", st.SQL)
   pre := "EXPLAIN "; if o.URL=="" {pre="EXPLAIN QUERY PLAN "}
   k.d.Read(context.Background(), db.Scope{Tenant:north}, func(tx *db.Tx) error { err := tx.Query(pre+st.SQL, st.Args, func(r *db.Row) error { i:=0; if o.URL=="" {i=3}; fmt.Println("   ", r.Text(i)); return nil }); if err!=nil {fmt.Println(err)}; return nil })
  }
 }}
}
