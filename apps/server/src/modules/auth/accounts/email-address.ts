import { isEmail } from '#core/http/formats';
import { EmailRefused } from '#modules/auth/auth.errors';

/**
 * The normalised form in which an address is stored and looked up.
 * @throws EmailRefused if the form is not an address: full-width characters can become "@" or ",".
 */
export function normaliseEmail(email: string): string {
  // Lower case can produce letters that compose, so the text is normalised again.
  const normal = email.normalize('NFKC').toLowerCase().normalize('NFKC');
  if (!isEmail(normal)) throw EmailRefused();
  return normal;
}
