import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Text files by path, in the format of Go's package `txtar`: a line `-- PATH --` before each. */
export type Archive = ReadonlyMap<string, string>;

export function parseArchive(text: string): Archive {
  const [before, ...parts] = text.split(/^-- (.+) --\n/m);
  if (before !== '') throw new Error('text stands before the first file of the archive');
  return new Map(parts.flatMap((path, at) => (at % 2 === 0 ? [[path, parts[at + 1] ?? '']] : [])));
}

/** Throws if a file has no newline at its end, or a line that the archive would take for the next file. */
export function formatArchive(files: Iterable<readonly [path: string, text: string]>): string {
  return [...files]
    .map(([path, text]) => {
      if (!text.endsWith('\n') || /^-- .+ --$/m.test(text)) throw new Error(`${path} cannot be part of an archive`);
      return `-- ${path} --\n${text}`;
    })
    .join('');
}

/** Writes the files below the folder, in their order. */
export function unpackArchive(files: Iterable<readonly [path: string, text: string]>, folder: string): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
