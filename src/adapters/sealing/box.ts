import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
/** Of the key of a box. */
export const KEY_BYTES = 32;
/** Of the nonce of a box. */
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What a box is sealed with, and for. */
export interface BoxSeal {
  readonly key: Uint8Array | KeyObject;
  /** What the bytes are, which is checked when the box is opened. */
  readonly purpose: string;
}

/**
 * Seals bytes so that only who has the key can read or make them: `head`, nonce, sealed bytes, tag. The head tells its
 * reader which form and which key it is, and is not protected itself. Of one key, no nonce may serve for two contents.
 */
export function sealBox({ key, purpose }: BoxSeal, head: Uint8Array, nonce: Uint8Array, bytes: Uint8Array): Uint8Array {
  const cipher = createCipheriv(CIPHER, key, nonce);
  cipher.setAAD(Buffer.from(purpose));
  return Buffer.concat([head, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Opens a box with a head of so many bytes; undefined: it was not sealed with this key and for this, or is spoiled. */
export function openBox({ key, purpose }: BoxSeal, headBytes: number, box: Uint8Array): Uint8Array | undefined {
  if (!mayBeBox(headBytes, box)) return undefined;
  const start = headBytes + NONCE_BYTES;
  const end = box.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, box.subarray(headBytes, start));
  decipher.setAAD(Buffer.from(purpose));
  decipher.setAuthTag(box.subarray(end));
  const bytes = decipher.update(box.subarray(start, end));
  try {
    return Buffer.concat([bytes, decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Is this long enough for a box with a head of so many bytes? */
export function mayBeBox(headBytes: number, box: Uint8Array): boolean {
  return box.length >= headBytes + NONCE_BYTES + TAG_BYTES;
}
