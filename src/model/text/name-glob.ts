/**
 * Whether a name matches any of the globs. `*` stands for any number of any characters, "/" included; everything else for
 * itself. The work is at most the length of the name times the length of the globs.
 */
export function matchesAnyName(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => matchesName(glob, name));
}

function matchesName(glob: string, name: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop();
  if (last === undefined) return glob === name;
  const end = name.length - last.length;
  if (!name.startsWith(first) || !name.endsWith(last) || end < first.length) return false;
  let at = first.length;
  // The earliest place of each part leaves the most room for those that follow.
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= end;
}
