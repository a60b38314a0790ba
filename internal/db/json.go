package db

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only what JSON demands is escaped.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	b = append(b, s...)
	return append(EscapeTail(b, len(b)-len(s)), '"')
}

// EscapeTail makes the bytes of b from start on the inside of a JSON string,
// in place when nothing needs an escape.
func EscapeTail(b []byte, start int) []byte {
	i := start
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	if i == len(b) {
		return b
	}
	tail := append([]byte(nil), b[i:]...)
	b = b[:i]
	for _, c := range tail {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return b
}
