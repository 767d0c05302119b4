import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

export type Certificate = { key: string; cert: string };

type Wanted = { hosts: readonly string[]; notBefore?: Date; notAfter?: Date };

const hourMs = 3_600_000;

/** A self-signed certificate (RFC 5280), for a server in a test and as trust anchor of its client. */
export function makeCertificate({ hosts, notBefore, notAfter }: Wanted): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const from = notBefore ?? new Date(Date.now() - hourMs);
  const to = notAfter ?? new Date(Date.now() + hourMs);
  // Of several trusted ones that have the same name only one would be found.
  const said = `${hosts[0]!} ${randomBytes(8).toString('hex')}`;
  const name = sequence(set(sequence(oid(commonName), tagged(0x0c, Buffer.from(said)))));
  const algorithm = sequence(oid(ecdsaWithSha256));
  const facts = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(time(from), time(to)),
    name,
    createPublicKey({ key: publicKey, type: 'spki', format: 'der' }).export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(sequence(oid(subjectAltName), tagged(0x04, sequence(...hosts.map(generalName)))))),
  );
  const signature = sign('sha256', facts, createPrivateKey(privateKey));
  const der = sequence(facts, algorithm, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n');
  return { key: privateKey, cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n` };
}

const commonName = [0x55, 0x04, 0x03];
const subjectAltName = [0x55, 0x1d, 0x11];
const ecdsaWithSha256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]) => tagged(0x30, ...parts);
const set = (...parts: readonly Buffer[]) => tagged(0x31, ...parts);
const integer = (bytes: Buffer) => tagged(0x02, bytes);
const oid = (bytes: readonly number[]) => tagged(0x06, Buffer.from(bytes));

function time(at: Date): Buffer {
  return tagged(0x18, Buffer.from(`${at.toISOString().replaceAll(/[-:T]|\.\d+Z/g, '')}Z`));
}

function generalName(host: string): Buffer {
  if (isIP(host) === 4) return tagged(0x87, Buffer.from(host.split('.').map(Number)));
  return tagged(0x82, Buffer.from(host));
}
