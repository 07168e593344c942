/** Is one resourceVersion newer than another? They are numbers of any length; what is no number is as new as anything. */
export function isNewer(version: string, than: string): boolean {
  if (!NUMBER.test(version) || !NUMBER.test(than)) return version !== than;
  return version.length === than.length ? version > than : version.length > than.length;
}

const NUMBER = /^[1-9][0-9]*$/;
