import { createHmac, createSecretKey, randomBytes } from 'node:crypto';

/** Makes a keyed hash (HMAC-SHA256, hex) under a fresh key that is kept nowhere else. */
export function createKeyedHash(): (text: string) => string {
  const key = createSecretKey(randomBytes(32));
  return (text) => createHmac('sha256', key).update(text).digest('hex');
}
