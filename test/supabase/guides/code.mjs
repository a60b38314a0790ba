// What a person reads from an authenticator app for a secret.
import { totp } from '../totp.mjs';

process.stdout.write(totp(process.argv[2]));
