import { isEmail } from '#core/http/formats';
import { EmailRefused } from '#modules/auth/auth.errors';

/**
 * The form under which an address is stored and looked up.
 * @throws EmailRefused when it is no address in that form: full-width signs turn into an "@" or a "," there.
 */
export function normaliseEmail(email: string): string {
  // Lower case can bring letters together that compose, so the form is made once more.
  const normal = email.normalize('NFKC').toLowerCase().normalize('NFKC');
  if (!isEmail(normal)) throw EmailRefused();
  return normal;
}
