const SSH_USER = '[A-Za-z0-9_][A-Za-z0-9._-]*';
const SSH_HOST = '([A-Za-z0-9][A-Za-z0-9._-]*|\\[[0-9A-Fa-f:.]+\\])';
/** `USER@HOST:PATH`, as git takes it. */
const SHORT_SSH = new RegExp(`^${SSH_USER}@${SSH_HOST}:[^-].*$`);
/** No part can be an option of ssh, and none is decoded to one. */
const LONG_SSH = new RegExp(`^ssh://(${SSH_USER}@)?${SSH_HOST}(:\\d{1,5})?/.+$`, 'i');

/** True for an address that git reaches by SSH. It may be one that {@link repositoryProblem} refuses. */
export function isSshAddress(text: string): boolean {
  return /^ssh:/i.test(text) || /^[^/\\:]*@[^/\\]*:/.test(text);
}

/** Why the text is no address of a repository; undefined if it is one. Never quotes the text, which may contain a password. */
export function repositoryProblem(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'the address holds a control character';
  if (text.startsWith('-')) return 'the address must not begin with "-"';
  if (isSshAddress(text)) {
    return SHORT_SSH.test(text) || (LONG_SSH.test(text) && !/[?#]/.test(text))
      ? undefined
      : 'an SSH address must be USER@HOST:PATH or ssh://[USER@]HOST[:PORT]/PATH, without a password, "?" and "#"';
  }
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) return undefined;
  const url = URL.parse(text);
  if (url === null) return 'the address is not a URL';
  if (!['http:', 'https:', 'file:'].includes(url.protocol)) {
    return `the address must begin with https://, http://, ssh:// or file://, or be USER@HOST:PATH or a path, not ${url.protocol}//`;
  }
  if (url.username !== '' || url.password !== '') {
    return 'the address must not hold a user or password: put them under credentials';
  }
  if (url.search !== '' || url.hash !== '') return 'the address must not hold "?" or "#"';
  return undefined;
}

/** Why the text (without slashes at its ends) is no sub-folder of a repository; undefined if it is one. */
export function subFolderProblem(text: string): string | undefined {
  if (text === '') return undefined;
  const segments = text.split('/');
  return segments.some((segment) => segment === '' || segment === '.' || segment === '..') || text.includes('\\')
    ? 'the path must be a folder inside the repository, separated by "/", without "." and ".."'
    : undefined;
}
