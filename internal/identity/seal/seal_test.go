package seal

import "testing"

func TestSeal(t *testing.T) {
	s, err := New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.Close([]byte("secret"), "row-1")
	if got, err := s.Open(sealed, "row-1"); err != nil || string(got) != "secret" {
		t.Error(got, err)
	}
	if _, err := s.Open(sealed, "row-2"); err == nil {
		t.Error("a sealed value was moved to another row")
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := s.Open(sealed, "row-1"); err == nil {
		t.Error("an altered value opened")
	}
	if _, err := s.Open(nil, "row-1"); err == nil {
		t.Error("an empty value opened")
	}
}

// A keyed UUID has the form of a random one, and the same parts give the same.
func TestUUID(t *testing.T) {
	s, err := New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	a := s.UUID("decoy", "a@x.example")
	if a != s.UUID("decoy", "a@x.example") || a == s.UUID("decoy", "b@x.example") || len(a) != 36 || a[14] != '4' {
		t.Error(a)
	}
}
