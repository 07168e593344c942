import { parentPort } from 'node:worker_threads';
import type { DecodedFile } from '../../model/desired.ts';
import { errorText } from '../../model/messages.ts';
import { openDecoder } from './decode-with-warnings.ts';

/** A file to decode. */
export interface DecodeTask {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly blob: string;
}

/** `defect`: decoding threw. */
export type DecodeAnswer = { readonly file: DecodedFile } | { readonly defect: string };

/** Decodes the files that the main thread sends, and answers in their order. */
export function runThread(): void {
  const port = parentPort;
  const opening = openDecoder();
  port?.on('message', async ({ path, bytes, blob }: DecodeTask) => {
    const decode = await opening;
    const answer = (sent: DecodeAnswer): void => port.postMessage(sent);
    try {
      answer({ file: decode(path, bytes, blob) });
    } catch (error) {
      answer({ defect: errorText(error) });
    }
  });
}
