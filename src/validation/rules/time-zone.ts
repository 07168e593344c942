const PART = /^[A-Za-z.\-_0-9+]{1,14}$/;

/** The rule that a text breaks which is no name of a time zone; undefined if it is one. */
export function timeZoneRule(name: string): string | undefined {
  const parts = name.split('/');
  const isName = parts.every((part) => PART.test(part) && !part.startsWith('-') && part !== '.' && part !== '..');
  if (!isName || name.toLowerCase() === 'local' || /^[+-]/.test(name) || !isKnown(name)) {
    return 'must be the name of a time zone like Europe/Berlin or Etc/UTC';
  }
  // JavaScript ignores the case, Kubernetes does not.
  const known = Intl.supportedValuesOf('timeZone');
  if (known.includes(name)) return undefined;
  const meant = known.find((zone) => zone.toLowerCase() === name.toLowerCase());
  return meant === undefined ? undefined : `must be written ${meant}`;
}

function isKnown(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
