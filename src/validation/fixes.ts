import type { Diagnostic, TextEdit } from '../model/fleet/diagnostic.ts';

/** A text after its findings were mended. */
export interface FixedText {
  readonly text: string;
  /** The findings whose fix was applied. */
  readonly mended: readonly Diagnostic[];
}

/**
 * Applies the fixes of the findings of a file to its text, byte order mark included, and changes nothing else. Fixes of errors come
 * first. A fix that touches an applied one is left for another run.
 */
export function applyFixes(text: string, diagnostics: readonly Diagnostic[]): FixedText {
  const mark = text.startsWith('\ufeff') ? 1 : 0;
  const edits = new Map<string, TextEdit>();
  /** The offsets that edits touch. */
  const taken = new Set<number>();
  const mended: Diagnostic[] = [];
  for (const severity of ['error', 'warning']) {
    for (const diagnostic of diagnostics) {
      if (diagnostic.severity !== severity || diagnostic.fix === undefined) continue;
      const added = diagnostic.fix.filter((edit) => !edits.has(keyOf(edit)));
      if (added.flatMap(offsetsOf).some((offset) => taken.has(offset))) continue;
      for (const edit of added) {
        edits.set(keyOf(edit), edit);
        for (const offset of offsetsOf(edit)) taken.add(offset);
      }
      mended.push(diagnostic);
    }
  }
  let result = '';
  let end = 0;
  for (const edit of edits
    .values()
    .toArray()
    .sort((a, b) => a.start - b.start)) {
    result += text.slice(end, edit.start + mark) + edit.text;
    end = edit.end + mark;
  }
  return { text: result + text.slice(end), mended };
}

function keyOf({ start, end, text }: TextEdit): string {
  return `${start} ${end} ${text}`;
}

function offsetsOf({ start, end }: TextEdit): readonly number[] {
  return Array.from({ length: end - start + 1 }, (_, index) => start + index);
}
