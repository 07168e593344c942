/** Translates offsets in a text into lines and columns, both from 1; columns count UTF-16 units. */
export interface LineIndex {
  position(offset: number): { readonly line: number; readonly column: number };
}

/** Indexes the text once; each question is a binary search. */
export function createLineIndex(text: string): LineIndex {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return {
    position(offset) {
      let low = 0;
      let high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((starts[middle] ?? 0) <= offset) low = middle;
        else high = middle - 1;
      }
      return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
    },
  };
}
