/** Whether a text matches one of the patterns, in which `*` stands for any characters. The work is bounded by the lengths. */
export function matchesName(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern.split('*'), text));
}

/** Whether the parts occur in this order: the first one at the beginning, the last one at the end. */
function matchesPattern([first = '', ...others]: readonly string[], text: string): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
