import { compareText } from './json.ts';

/** The message of a thrown value, for a log line or another message. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A number with its noun: `1 removal`, `8 removals`. */
export function counted(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

/** The first names, and how many more there are: `a, b and 3 more`. `count`: of all of them, if `names` has only some. */
export function firstNames(names: readonly string[], most: number, count = names.length): string {
  const shown = names.slice(0, most);
  const more = count - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const LONGEST_WORD = 64;

/**
 * The known word that is nearest to a misspelled one: it begins with `word`, or at most a third of the letters differ.
 * Case does not matter. Undefined: no word is near.
 */
export function suggestion(word: string, known: Iterable<string>): string | undefined {
  if (word.length > LONGEST_WORD) return undefined;
  const written = word.toLowerCase();
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of [...known].sort(compareText)) {
    const meant = name.toLowerCase();
    const isBeginning = written.length >= 2 && meant.startsWith(written);
    const allowed = Math.max(1, Math.floor(Math.max(written.length, meant.length) / 3));
    if (!isBeginning && Math.abs(written.length - meant.length) > allowed) continue;
    const distance = isBeginning ? Math.min(1, meant.length - written.length) : editDistance(written, meant);
    // A plural is nearer than other words that begin so.
    const isPlural = distance === best?.distance && meant === `${written}s`;
    if (distance <= allowed && (best === undefined || distance < best.distance || isPlural)) best = { name, distance };
  }
  return best?.name;
}

/** Insertions, deletions, replacements and swaps of neighbours between two short words. */
function editDistance(a: string, b: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (beforeLast[j - 2] ?? 0) + 1 : i + j;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}

/** The text, or its beginning and how long it was, in at most `most` characters (50 or more). `hasMore`: it was cut before. */
export function cutText(text: string, most: number, hasMore = false): string {
  if (text.length <= most) return text.toWellFormed();
  const note = `... cut, ${hasMore ? 'more than ' : ''}${text.length} characters`;
  // A part of a string holds the whole one in memory. A part of a joined string holds only the joined one.
  return `${text.slice(0, most - note.length)}${note} `.slice(0, most).toWellFormed();
}

/** The command for a person that repairs the inventory of a cluster whose position no server can follow. */
export function repairCommand(cluster: string): string {
  return `fleetrelay cluster reset-position ${cluster} --context CONTEXT`;
}
