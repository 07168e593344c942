import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { SshFiles } from '../../src/model/fleet/relay-config.ts';
import { until } from './fleet-processes.ts';
import { freePort } from './free-port.ts';
import { programPath } from './programs.ts';

/** An OpenSSH server of its own on 127.0.0.1, which lets the user of this process in with one key. */
export interface Sshd {
  readonly port: number;
  /** The address of a path on this machine. */
  urlOf(path: string): string;
  /** The key that is let in, and the host's key. Both files may be changed. */
  readonly files: SshFiles;
  /** Makes another key without a passphrase, which is not let in; returns its file. */
  newKey(name: string, passphrase?: string): string;
  /** Lets this key in, and no other. */
  admit(keyFile: string): void;
  /** The line of known hosts for the key in this file. */
  knownHost(keyFile: string): string;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

export async function startSshd(): Promise<Sshd> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-sshd-'));
  const port = await freePort();
  const at = (name: string): string => join(folder, name);
  const publicKey = (keyFile: string): string => readFileSync(`${keyFile}.pub`, 'utf8');
  const newKey = (name: string, passphrase = ''): string => {
    execFileSync(programPath('ssh-keygen'), ['-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', at(name)]);
    return at(name);
  };
  const admit = (keyFile: string): void => writeFileSync(at('authorized_keys'), publicKey(keyFile), { mode: 0o600 });
  const knownHost = (keyFile: string): string => `[127.0.0.1]:${port} ${publicKey(keyFile)}`;
  // The name has what the shell and ssh read in their own way.
  const files = { keyFile: newKey("deploy key's 100%h"), knownHostsFile: at("known hosts' 100%h") };
  admit(files.keyFile);
  writeFileSync(files.knownHostsFile, knownHost(newKey('host')));
  writeFileSync(
    at('sshd_config'),
    [
      ...[`ListenAddress 127.0.0.1:${port}`, `HostKey ${at('host')}`, `AuthorizedKeysFile ${at('authorized_keys')}`],
      ...['PasswordAuthentication no', 'KbdInteractiveAuthentication no', 'UsePAM no', 'StrictModes no'],
      ...['PidFile none', 'AcceptEnv GIT_PROTOCOL', 'MaxStartups 100'],
    ].join('\n'),
  );
  // sshd of root changes its root to this folder, which the start script of the package makes.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  let log = '';
  const child: ChildProcess = spawn(programPath('sshd'), ['-D', '-e', '-f', at('sshd_config')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr?.on('data', (data) => (log += String(data)));
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const isUp = (): boolean => {
    if (child.exitCode !== null) throw new Error(`sshd has ended: ${log}`);
    return log.includes('Server listening');
  };
  await until('sshd is up', isUp).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const user = userInfo().username;
  return { port, urlOf: (path) => `ssh://${user}@127.0.0.1:${port}${path}`, files, newKey, admit, knownHost, stop };
}
