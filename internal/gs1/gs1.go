// Package gs1 reads and makes the keys of the GS1 General Specifications:
// numbers with a check digit (GTIN, SSCC, GLN), element strings of barcodes
// with application identifiers (AI), and GS1 Digital Link URIs.
//
// Layer: GS1 keys. Begin at [Read].
package gs1

import (
	"fmt"
	"strings"
)

// Lengths of keys in digits, check digit included.
const (
	lenGTIN = 14
	lenSSCC = 18
	lenGLN  = 13
	lenGSIN = 17
)

// CheckDigit returns the digit that makes a key of the given digits whole:
// weights 3 and 1 from the right, up to the next ten (GS1 General
// Specifications 7.9). ok is false when data is empty or holds anything but
// digits.
func CheckDigit(data string) (digit byte, ok bool) {
	if !areDigits(data) {
		return 0, false
	}
	sum := 0
	for i := range len(data) {
		d := int(data[len(data)-1-i] - '0')
		if i%2 == 0 {
			d *= 3
		}
		sum += d
	}
	return byte('0' + (10-sum%10)%10), true
}

// Checked reports digits that end in their own check digit.
func Checked(key string) bool {
	if len(key) < 2 {
		return false
	}
	d, ok := CheckDigit(key[:len(key)-1])
	return ok && d == key[len(key)-1]
}

// GTIN returns a GTIN-8, -12, -13 or -14 with zeros in front to 14 digits; ok is
// false for another length or a wrong check digit.
func GTIN(s string) (padded string, ok bool) {
	switch len(s) {
	case 8, 12, 13, lenGTIN:
		return strings.Repeat("0", lenGTIN-len(s)) + s, Checked(s)
	}
	return "", false
}

// IsSSCC reports a serial shipping container code: 18 digits with check digit.
func IsSSCC(s string) bool { return len(s) == lenSSCC && Checked(s) }

// IsGLN reports a global location number: 13 digits with check digit.
func IsGLN(s string) bool { return len(s) == lenGLN && Checked(s) }

// SSCC makes the code of a logistic unit: extension digit 0-9, company prefix
// of 4-12 digits, serial number filling up to 17 digits, check digit.
func SSCC(extension int, companyPrefix string, serial int64) (string, error) {
	width := lenSSCC - 2 - len(companyPrefix)
	switch {
	case extension < 0 || extension > 9:
		return "", fmt.Errorf("gs1: extension digit %d is not 0-9", extension)
	case len(companyPrefix) < 4 || len(companyPrefix) > 12 || !areDigits(companyPrefix):
		return "", fmt.Errorf("gs1: a company prefix has 4-12 digits, %q has not", companyPrefix)
	case serial < 0 || len(fmt.Sprint(serial)) > width:
		return "", fmt.Errorf("gs1: serial number %d does not fit %d digits", serial, width)
	}
	data := fmt.Sprintf("%d%s%0*d", extension, companyPrefix, width, serial)
	check, _ := CheckDigit(data)
	return data + string(check), nil
}

// areDigits reports a text of one or more ASCII digits.
func areDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
