import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Everything below a folder as one text, byte by byte. What is compressed is not looked into. */
export function contentsOf(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}
