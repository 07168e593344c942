import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import type { JsonValue } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';

/** Reads a status document by its path on the status branch; undefined: there is none, or it is no YAML. */
export type StatusFolder = (path: string) => JsonValue | undefined;

/** Opens a checkout of the status branch. Throws a text for a person if it cannot be listed. */
export function openStatusFolder(folder: string): StatusFolder {
  try {
    readdirSync(folder);
  } catch (error) {
    throw new Error(`the status in ${folder} cannot be read: ${errorText(error)}`);
  }
  const known = new Map<string, JsonValue | undefined>();
  return (path) => {
    if (!known.has(path)) known.set(path, readDocument(join(folder, path)));
    return known.get(path);
  };
}

function readDocument(file: string): JsonValue | undefined {
  try {
    return load(readFileSync(file, 'utf8')) as JsonValue;
  } catch {
    return undefined;
  }
}
