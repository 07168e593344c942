import type { ListenAddress } from './listen-address.ts';

/**
 * Path of the file with the token of a server without configured people, for commands of the same user: in the folder of
 * state of the XDG Base Directory Specification, by the IP address and port that the server is bound to. Undefined: the
 * environment names no such folder.
 */
export function localTokenPath(
  { XDG_STATE_HOME: state, HOME: home }: Readonly<Record<string, string | undefined>>,
  { host, port }: ListenAddress,
): string | undefined {
  const folder = isAbsolute(state) ? state : isAbsolute(home) ? `${home}/.local/state` : undefined;
  return folder === undefined ? undefined : `${folder}/fleetrelay/api/${host}_${port}`;
}

/** The specification has relative paths ignored. */
function isAbsolute(path: string | undefined): path is string {
  return path?.startsWith('/') === true;
}
