package identity

import "context"

// SolvedCaptcha refuses, where the configuration asks for captchas, a request
// whose answer is not good: captcha_failed.
func (s *Service) SolvedCaptcha(ctx context.Context, answer string, c Client) error {
	if s.cfg.Captcha == nil {
		return nil
	}
	return s.cfg.Captcha.Check(ctx, answer, c.Address)
}
