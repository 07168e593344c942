import { parentPort } from 'node:worker_threads';
import { decoders } from '../../domains/decoders.ts';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import { createLocator, type FoundPlace, type Place } from '../../manifest/locate.ts';
import type { DecodedFile } from '../../model/fleet/desired.ts';
import { errorText } from '../../model/text/messages.ts';
import { openDecoder } from './decode-with-warnings.ts';

/** Larger files have no lines: parsing them once more takes seconds and hundreds of MiB. Some 50,000 lines are below that. */
const LOCATED = { ...defaultDecodeLimits, maxNodes: 100_000 };

/** A file to decode, or one in which `places` are to be found. */
export type DecodeTask = {
  readonly path: string;
  readonly bytes: Uint8Array;
} & ({ readonly blob: string } | { readonly places: readonly Place[] });

/** `defect`: the task threw. */
export type DecodeAnswer =
  | { readonly file: DecodedFile }
  | { readonly found: readonly (FoundPlace | undefined)[] }
  | { readonly defect: string };

/** Does the tasks that the main thread sends, and answers in their order. */
export function runThread(): void {
  const port = parentPort;
  const opening = openDecoder();
  port?.on('message', async (task: DecodeTask) => {
    const { path, bytes } = task;
    const decode = await opening;
    const answer = (sent: DecodeAnswer): void => port.postMessage(sent);
    try {
      if ('blob' in task) answer({ file: decode(path, bytes, task.blob) });
      else answer({ found: task.places.map(createLocator(decoders, path, bytes, LOCATED)) });
    } catch (error) {
      answer({ defect: errorText(error) });
    }
  });
}
