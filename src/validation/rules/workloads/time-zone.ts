/** `Etc/GMT+5`, `America/Port-au-Prince`: each part begins with a capital letter. */
const NAME = /^[A-Z][A-Za-z0-9_+-]{0,13}(\/[A-Z][A-Za-z0-9_+-]{0,13}){0,2}$/;

/** The zones of at most three letters. JavaScript knows more, from times before there were names of regions. */
const SHORT = ['UTC', 'UCT', 'GMT', 'EST', 'MST', 'HST', 'CET', 'MET', 'EET', 'WET', 'PRC', 'ROC', 'ROK', 'GB', 'NZ'];

/** Names in the database of time zones that JavaScript does not know. */
const ODD = /^(Factory|posixrules|localtime|(posix|right)\/.+)$/;

/** The rule that a text breaks which is no name of a time zone; undefined if it is one. */
export function timeZoneRule(name: string): string | undefined {
  if (ODD.test(name) || (NAME.test(name) && isKnown(name) && (name.length > 3 || SHORT.includes(name))))
    return undefined;
  const meant = Intl.supportedValuesOf('timeZone').find((zone) => zone.toLowerCase() === name.toLowerCase());
  return `must be the name of a time zone like ${meant ?? 'Europe/Berlin or Etc/UTC'}`;
}

function isKnown(name: string): boolean {
  try {
    // JavaScript ignores the case of the name, Kubernetes does not.
    const zone = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
    return zone === name || zone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}
