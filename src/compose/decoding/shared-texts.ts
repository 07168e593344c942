import type { DecodedFile } from '../../model/fleet/desired.ts';

/** Shorter texts cost less than looking for their like. */
const LONG = 64;

/**
 * Lets equal long texts of a file be one text. Aliases of a file share their text, but a message from a thread has a copy for each of
 * them: a file of some kB would keep 15 MiB. Changes the file, which must be the receiver's alone.
 */
export function shareTexts(file: DecodedFile): void {
  const texts = new Map<string, string>();
  const seen = new Set<object>();
  const waiting: object[] = [file.reading];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const members = next as Record<string, unknown>;
    for (const [name, member] of Object.entries(members)) {
      if (typeof member === 'object' && member !== null) waiting.push(member);
      if (typeof member !== 'string' || member.length < LONG) continue;
      const known = texts.get(member);
      if (known === undefined) texts.set(member, member);
      else members[name] = known;
    }
  }
}
