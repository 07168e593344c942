import { decoders } from '../../src/domains/decoders.ts';
import { type DecodeOptions, decodeFile as decodeWith } from '../../src/manifest/decode-file.ts';

/** Decodes a file as fleetrelay does, with the kinds of all domains. */
export function decodeFile(
  path: string,
  bytes: Uint8Array,
  blob: string,
  options?: Partial<DecodeOptions>,
): ReturnType<typeof decodeWith> {
  return decodeWith(path, bytes, blob, { decoders, ...options });
}
