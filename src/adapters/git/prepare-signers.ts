import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApprovalSigners } from '../../model/fleet/relay-config.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import type { Clock } from '../../ports/clock.ts';
import { makeFolders } from '../disk/folders.ts';
import { cleanMessage } from './failures.ts';
import type { GitSigners } from './file-signature.ts';
import { type ProcessOutcome, runProgram } from './git-command.ts';
import type { Environment } from './remote.ts';

interface Deps {
  readonly clock: Clock;
  readonly environment: Environment;
}

const DEADLINE_MS = 30_000;
/** Git verifies SSH signatures since this version. */
const SSH_VERSION = [2, 34] as const;

/**
 * Checks that the signers of approvals can be verified, and imports their OpenPGP keys into a keyring of their own in `directory`.
 * Rejects with a text for people that names the field of the RelayConfig.
 */
export async function prepareSigners(
  deps: Deps,
  { allowedSignersFile, openpgpKeysFile }: ApprovalSigners,
  directory: string,
): Promise<GitSigners> {
  await makeFolders(directory, { mode: 0o700 });
  if (allowedSignersFile !== undefined) await checkAllowedSigners(deps, allowedSignersFile, directory);
  const home = openpgpKeysFile === undefined ? undefined : await importKeys(deps, openpgpKeysFile, directory);
  return given({ allowedSignersFile, openpgpHome: home });
}

const PUBLIC_KEY = /\s(ssh-|ecdsa-|sk-)[\w@.-]+\s+[A-Za-z0-9+/]+=*(\s|$)/;

async function checkAllowedSigners(deps: Deps, file: string, directory: string): Promise<void> {
  const at = 'bounds.approvalSigners.allowedSignersFile';
  const text = await textOf(file, at);
  const lines = text.split('\n').map((line, index) => ({ number: index + 1, line: line.trim() }));
  const signers = lines.filter(({ line }) => line !== '' && !line.startsWith('#'));
  if (signers.length === 0) throw new Error(`${at}: ${file} names no signer; write a line for each: NAME KEY`);
  const broken = signers.find(({ line }) => !PUBLIC_KEY.test(line));
  if (broken !== undefined) {
    throw new Error(
      `${at}: ${file}:${broken.number} has no SSH public key; write NAME, then the contents of the .pub file`,
    );
  }
  const sshKeygen = await run(deps, 'ssh-keygen', ['-l', '-f', file], directory);
  if (sshKeygen.end === 'missing') {
    throw new Error(
      `${at}: the program ssh-keygen, with which git verifies SSH signatures, is not on the PATH; install OpenSSH`,
    );
  }
  const git = await run(deps, 'git', ['version'], directory);
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(git.output.toString('latin1'))?.map(Number) ?? [];
  if (major < SSH_VERSION[0] || (major === SSH_VERSION[0] && minor < SSH_VERSION[1])) {
    throw new Error(
      `${at}: git ${major}.${minor} verifies no SSH signatures; install git ${SSH_VERSION.join('.')} or newer`,
    );
  }
}

/** The keyring holds nothing else, so every key in it is trusted, and no key is looked up elsewhere. */
const GPG_SETTINGS = 'trust-model always\nno-auto-key-retrieve\nno-auto-key-locate\nno-autostart\nbatch\nno-tty\n';

/** Makes the keyring anew: a key that was taken out of the file must not stay. */
async function importKeys(deps: Deps, file: string, directory: string): Promise<string> {
  const at = 'bounds.approvalSigners.openpgpKeysFile';
  await textOf(file, at);
  const home = join(directory, 'gnupg');
  await rm(home, { recursive: true, force: true });
  await mkdir(home, { mode: 0o700 });
  await writeFile(join(home, 'gpg.conf'), GPG_SETTINGS, { mode: 0o600 });
  const outcome = await run(deps, 'gpg', ['--homedir', home, '--status-fd', '1', '--import', file], directory);
  if (outcome.end === 'missing') {
    throw new Error(
      `${at}: the program gpg, with which git verifies OpenPGP signatures, is not on the PATH; install GnuPG`,
    );
  }
  if (!/^\[GNUPG:\] IMPORT_OK /m.test(outcome.output.toString('latin1'))) {
    const detail = cleanMessage(outcome.errors, []);
    throw new Error(`${at}: ${file} holds no OpenPGP public key, as gpg --export writes it: ${detail || outcome.end}`);
  }
  return home;
}

async function textOf(file: string, at: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`${at}: ${file} cannot be read: ${errorText(cause)}`, { cause });
  });
}

function run(
  { clock, environment }: Deps,
  program: string,
  args: readonly string[],
  directory: string,
): Promise<ProcessOutcome> {
  return runProgram({ clock, environment }, { program, args, directory, deadlineMs: DEADLINE_MS });
}
