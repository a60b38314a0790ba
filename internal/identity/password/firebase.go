package password

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/scrypt"
)

// Bounds on imported scrypt hashes: 2^16 blocks of 8 are 64 MB.
const (
	maxScryptPower  = 16
	maxScryptMemory = 64 << 20
)

// firebase is a hash of Firebase Authentication in GoTrue's notation:
// $fbscrypt$v=1,n=14,r=8,p=1,ss=separator,sk=signer key$salt$hash, all base64.
type firebase struct {
	power, r, p               uint32
	salt, separator, key, sum []byte
}

func isFirebase(h string) bool { return strings.HasPrefix(h, "$fbscrypt$") }

func parseFirebase(s string) (firebase, error) {
	var f firebase
	parts := strings.Split(s, "$")
	if len(s) > 512 || len(parts) != 5 {
		return f, fmt.Errorf("password: not a Firebase scrypt hash")
	}
	// ss and sk are base64, which may end in "=".
	numbers, rest, _ := strings.Cut(parts[2], ",ss=")
	separator, signer, _ := strings.Cut(rest, ",sk=")
	var version uint32
	if err := parseCosts(numbers, map[string]*uint32{"v": &version, "n": &f.power, "r": &f.r, "p": &f.p}); err != nil {
		return f, err
	}
	if version != 1 || f.power < 1 || f.power > maxScryptPower || f.r < 1 || f.p != 1 ||
		uint64(128)*uint64(f.r)<<f.power > maxScryptMemory {
		return f, fmt.Errorf("password: parameters out of bounds")
	}
	for _, b := range []struct {
		text string
		into *[]byte
		min  int
	}{{separator, &f.separator, 0}, {signer, &f.key, 16}, {parts[3], &f.salt, 4}, {parts[4], &f.sum, 16}} {
		v, err := base64.StdEncoding.Strict().DecodeString(b.text)
		if err != nil || len(v) < b.min {
			return f, fmt.Errorf("password: bad base64, or too short")
		}
		*b.into = v
	}
	if len(f.sum) != len(f.key) {
		return f, fmt.Errorf("password: hash and signer key differ in length")
	}
	return f, nil
}

// verifyFirebase encrypts the signer key with what scrypt makes of the
// password; the ciphertext is the hash (github.com/firebase/scrypt).
func verifyFirebase(hash, pw string) bool {
	f, err := parseFirebase(hash)
	if err != nil {
		return false
	}
	key, err := scrypt.Key([]byte(pw), append(append([]byte{}, f.salt...), f.separator...), 1<<f.power, int(f.r), int(f.p),
		32)
	if err != nil {
		return false
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return false
	}
	got := make([]byte, len(f.key))
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(got, f.key)
	return subtle.ConstantTimeCompare(got, f.sum) == 1
}
