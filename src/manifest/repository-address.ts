/** Why the text is no address of a repository; undefined if it is one. Never quotes the text, which may contain a password. */
export function repositoryProblem(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'the address holds a control character';
  if (text.startsWith('-')) return 'the address must not begin with "-"';
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) {
    return /^[^/\\]*@[^/\\]*:/.test(text) ? 'ssh is not supported: use an http(s) address' : undefined;
  }
  const url = URL.parse(text);
  if (url === null) return 'the address is not a URL';
  if (!['http:', 'https:', 'file:'].includes(url.protocol)) {
    return `the address must begin with https://, http:// or file://, or be a path, not ${url.protocol}//`;
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
