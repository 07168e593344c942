import { readFile, stat } from 'node:fs/promises';
import type { SshFiles } from '../../model/fleet/relay-config.ts';
import { errorText } from '../../model/text/messages.ts';
import type { GitFailure } from '../../ports/git-repo.ts';
import { failed } from './failures.ts';
import type { Environment } from './remote.ts';

/**
 * The ssh command for git: it offers the key alone, accepts the known hosts alone, and reads no configuration of the machine. It
 * asks neither a person nor an agent.
 */
export function sshCommand({ keyFile, knownHostsFile }: SshFiles): string {
  const options = [
    'BatchMode=yes',
    'PreferredAuthentications=publickey',
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    `IdentityFile=${sshPath(keyFile)}`,
    `UserKnownHostsFile=${sshPath(knownHostsFile)}`,
    'GlobalKnownHostsFile=/dev/null',
    'StrictHostKeyChecking=yes',
    'UpdateHostKeys=no',
    'ConnectTimeout=30',
    'ServerAliveInterval=15',
    'ServerAliveCountMax=4',
  ];
  return ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', shellWord(option)])].join(' ');
}

/** A path as ssh reads it, which divides at spaces and replaces what follows a per cent sign. */
function sshPath(path: string): string {
  return `"${path.replaceAll('%', '%%')}"`;
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Looks at the files before a connection; undefined: ssh can use them. */
export async function sshFilesProblem({ keyFile, knownHostsFile }: SshFiles): Promise<GitFailure | undefined> {
  const key = await readText(keyFile, 'ssh.keyFile');
  if (typeof key !== 'string') return key;
  const hosts = await readText(knownHostsFile, 'ssh.knownHostsFile');
  if (typeof hosts !== 'string') return hosts;
  const { uid, mode } = await stat(keyFile);
  if (uid === process.getuid?.() && (mode & 0o077) !== 0) {
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    return failed(
      'Unauthorized',
      `ssh refuses the key ${keyFile}, because others can read it (mode ${octal}): chmod 600`,
    );
  }
  if (!/^-----BEGIN [A-Z ]*PRIVATE KEY-----/m.test(key)) {
    return failed('Unauthorized', `the file ${keyFile} of ssh.keyFile holds no private key`);
  }
  if (isEncrypted(key)) {
    const mend = `ssh-keygen -p -N '' -f ${keyFile} takes it away`;
    return failed('Unauthorized', `the key ${keyFile} has a passphrase, which no one enters here: ${mend}`);
  }
  return undefined;
}

async function readText(path: string, what: string): Promise<string | GitFailure> {
  return readFile(path, 'latin1').catch((error: unknown) =>
    failed('Unauthorized', `the file of ${what} cannot be read: ${errorText(error)}`),
  );
}

/** True for a private key that needs a passphrase, in OpenSSH's format or as PEM. */
function isEncrypted(key: string): boolean {
  if (/^-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(key)) return true;
  const body = /-----BEGIN OPENSSH PRIVATE KEY-----([\sA-Za-z0-9+/=]*)-----END/.exec(key)?.[1];
  if (body === undefined) return false;
  // "openssh-key-v1", a zero byte, and the name of the cipher with its length.
  const bytes = Buffer.from(body, 'base64');
  return bytes.toString('latin1', 19, 19 + Math.min(bytes.length < 19 ? 0 : bytes.readUInt32BE(15), 32)) !== 'none';
}

/** Says of a refusal which key was offered, and that an agent was not asked. */
export function withKey(failure: GitFailure, { keyFile }: SshFiles, { SSH_AUTH_SOCK }: Environment): GitFailure {
  if (failure.reason !== 'Unauthorized') return failure;
  const agent = SSH_AUTH_SOCK ? '; the ssh agent of the environment is never asked' : '';
  return { ...failure, message: `${failure.message} (the key is ${keyFile}${agent})` };
}
