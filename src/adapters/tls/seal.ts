import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Of the form below; another one gets another number. */
const FORM = 1;

/** Seals bytes so that only who has the secret can read or make them. `purpose`: what they are, which is checked too. */
export function seal(secret: Uint8Array, purpose: string, bytes: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret, purpose), nonce);
  cipher.setAAD(Buffer.from(purpose));
  return Buffer.concat([Buffer.from([FORM]), nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Opens what one of the secrets has sealed for this purpose, and says which; undefined: none of them has. */
export function unseal(
  secrets: readonly Uint8Array[],
  purpose: string,
  sealed: Uint8Array,
): { readonly bytes: Uint8Array; readonly secret: number } | undefined {
  if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORM) return undefined;
  for (const [index, secret] of secrets.entries()) {
    try {
      const decipher = createDecipheriv(CIPHER, keyOf(secret, purpose), sealed.subarray(1, 1 + NONCE_BYTES));
      decipher.setAAD(Buffer.from(purpose));
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
      const body = sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES);
      return { bytes: Buffer.concat([decipher.update(body), decipher.final()]), secret: index };
    } catch {
      // Sealed with another secret, or spoiled.
    }
  }
  return undefined;
}

function keyOf(secret: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, new Uint8Array(0), `fleetrelay ${purpose}`, 32));
}
