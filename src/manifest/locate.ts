import type { Location } from '../model/diagnostic.ts';
import { countedIdentity } from './decode-file.ts';
import { defaultDecodeLimits } from './limits.ts';
import { flattenLists } from './lists.ts';
import { type FieldPath, fieldWarning } from './problem.ts';
import { readDocument } from './read-document.ts';
import { readFile } from './read-file.ts';

/**
 * Finds a document, or a field of it, in the bytes that it was decoded from. Undefined if no document of that identity is
 * there; a field that is missing is at its nearest parent.
 *
 * @param path for the location, and to tell JSON from YAML
 * @param identity as in `SourceDocument.identity`, the repetition mark included
 */
export function locate(path: string, bytes: Uint8Array, identity: string, field: FieldPath = []): Location | undefined {
  const file = readFile(path, bytes, defaultDecodeLimits);
  const seen = new Map<string, number>();
  for (const document of file.documents) {
    for (const part of flattenLists(document.value)) {
      const reading = readDocument(part.value);
      // Only documents with content have been counted when the file was decoded.
      if (reading.identity === undefined || reading.content === undefined) continue;
      if (countedIdentity(reading.identity, seen) !== identity) continue;
      const mark = { ...fieldWarning('Mark', [...part.path, ...field], ''), atKey: typeof field.at(-1) === 'string' };
      return file.place(document, mark).diagnostic.at;
    }
  }
  return undefined;
}
