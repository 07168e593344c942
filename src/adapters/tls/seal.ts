import { hkdfSync, randomBytes } from 'node:crypto';
import { type BoxSeal, KEY_BYTES, NONCE_BYTES, openBox, sealBox } from '../sealing/box.ts';

/** Of the form of what is sealed here: this byte, then the box. Another form gets another number. */
const FORM = 1;
const HEAD = Buffer.from([FORM]);

/** Seals bytes so that only who has the secret can read or make them. `purpose`: what they are, which is checked too. */
export function seal(secret: Uint8Array, purpose: string, bytes: Uint8Array): Uint8Array {
  return sealBox(sealOf(secret, purpose), HEAD, randomBytes(NONCE_BYTES), bytes);
}

/** Opens what one of the secrets has sealed for this purpose, and says which; undefined: none of them has. */
export function unseal(
  secrets: readonly Uint8Array[],
  purpose: string,
  sealed: Uint8Array,
): { readonly bytes: Uint8Array; readonly secret: number } | undefined {
  if (sealed[0] !== FORM) return undefined;
  for (const [index, secret] of secrets.entries()) {
    const bytes = openBox(sealOf(secret, purpose), HEAD.length, sealed);
    if (bytes !== undefined) return { bytes, secret: index };
  }
  return undefined;
}

function sealOf(secret: Uint8Array, purpose: string): BoxSeal {
  const key = hkdfSync('sha256', secret, new Uint8Array(0), `fleetrelay ${purpose}`, KEY_BYTES);
  return { key: Buffer.from(key), purpose };
}
