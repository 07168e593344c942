import type { GitSource } from '../../generated/relay-config.js';
import type { Refuse } from './problem.ts';
import { isSshAddress } from './repository-address.ts';

/** Refuses credentials for an SSH address, `ssh` for another one, and files that ssh cannot be told. */
export function refuseOtherAccess(
  { credentials, ssh, caFile }: Pick<GitSource, 'credentials' | 'ssh' | 'caFile'>,
  url: string,
  at: string,
  refuse: Refuse,
): void {
  if (!isSshAddress(url)) {
    if (ssh !== undefined) refuse('WrongChoice', `${at}.ssh`, 'only an SSH address has ssh');
    return;
  }
  if ((credentials ?? caFile) !== undefined) {
    const message = 'credentials and caFile are for an http(s) address; an SSH address has ssh';
    refuse('WrongChoice', at, message);
  }
  if (ssh === undefined) refuse('MissingField', at, 'an SSH address needs ssh, with keyFile and knownHostsFile');
  for (const [name, path] of Object.entries(ssh ?? {})) {
    if (/["$\\]|\p{Cc}/u.test(path))
      refuse('BadPath', `${at}.ssh.${name}`, 'ssh reads no path with ", $, \\ or a control character');
  }
}
