/** The known word that `word` was probably meant to be, or undefined: at most a third of its letters differ. */
export function suggestion(word: string, known: readonly string[]): string | undefined {
  if (word.length > 40) return undefined;
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const distance = name.startsWith(word) && word.length >= 2 ? 1 : editDistance(word, name);
    if (
      distance <= Math.max(1, Math.floor(name.length / 3)) &&
      distance < (best?.distance ?? Number.POSITIVE_INFINITY)
    ) {
      best = { name, distance };
    }
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
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (beforeLast[j - 2] ?? i + j) + 1 : i + j;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
