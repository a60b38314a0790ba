package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// MasterKeyName is the file of the data directory that holds the master key where
// no setting gives one.
const MasterKeyName = "master.key"

// masterKeySize is the length of a master key in bytes.
const masterKeySize = 32

// MasterKeyPath returns the file that the master key is read from: that of the
// setting master_key_file, the configuration file that has the line master_key, or
// master.key of the data directory, which need not exist yet. It returns "" where
// the environment, a credential or a flag holds the key itself.
func (c *Config) MasterKeyPath() string {
	switch {
	case c.MasterKeyFile != "":
		return c.MasterKeyFile
	case c.MasterKey != "":
		return c.masterKeyIn
	}
	return filepath.Join(c.Data, MasterKeyName)
}

// ReadMasterKey returns the 32 bytes of the master key in effect. It makes none:
// where no setting gives a key and the data directory has no file of it yet, the
// error is an [os.ErrNotExist].
func (c *Config) ReadMasterKey() ([]byte, error) {
	if c.MasterKey != "" {
		return decodeMasterKey("master_key", c.MasterKey)
	}
	return ReadMasterKeyFile(filepath.Join(c.Data, MasterKeyName))
}

// ReadMasterKeyFile returns the 32 bytes of the master key that a file holds in
// base64.
func ReadMasterKeyFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: master key: %w", err)
	}
	return decodeMasterKey(path, string(text))
}

func decodeMasterKey(from, text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != masterKeySize {
		return nil, fmt.Errorf("config: %s does not hold a key of %d bytes in base64", from, masterKeySize)
	}
	return key, nil
}

func (c *Config) checkMaster() error {
	if c.MasterKeyFile != "" {
		b, err := os.ReadFile(c.MasterKeyFile)
		if err != nil {
			return fmt.Errorf("config: master_key_file: %w", err)
		}
		c.MasterKey = strings.TrimSpace(string(b))
	}
	if c.MasterKey == "" {
		return nil
	}
	if _, err := decodeMasterKey("master_key", c.MasterKey); err != nil {
		return errors.New("config: master_key must be 32 bytes in base64, for example from `openssl rand -base64 32`")
	}
	return nil
}
