import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Everything below a folder as one text, byte by byte. What is compressed is not looked into. A file that is removed
 * meanwhile, as git does with its temporary ones, is left out.
 */
export function contentsOf(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => textIn(join(entry.parentPath, entry.name)))
    .join('\n');
}

function textIn(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
