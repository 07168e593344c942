import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Identity } from './enrolled.ts';
import { programPath } from './programs.ts';

/** An authority outside of us, and certificates of callers, all made with OpenSSL. */
export interface TestCallers {
  /** PEM. */
  readonly roots: Buffer;
  readonly east: Identity;
  /** Signed by the authority for this name, or by one below it. */
  sign(options?: { readonly name?: string; readonly usage?: string; readonly through?: 'intermediate' }): Identity;
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** A new authority, and one caller: the cluster `east`, by its DNS name alone. */
export function createTestCallers(): TestCallers {
  const dir = mkdtempSync(join(tmpdir(), 'test-callers-'));
  const at = (name: string): string => join(dir, name);
  const openssl = (...args: string[]): void =>
    void execFileSync(programPath('openssl'), args, { stdio: 'pipe', cwd: dir });
  try {
    openssl(
      'req',
      '-x509',
      ...EC,
      '-keyout',
      at('ca.key'),
      '-out',
      at('ca.crt'),
      '-subj',
      '/CN=callers',
      '-days',
      '30',
    );
    const authority = { key: readFileSync(at('ca.key')), roots: readFileSync(at('ca.crt')) };
    const sign: TestCallers['sign'] = (options = {}) => signIn(authority, options);
    return { roots: authority.roots, sign, east: sign() };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function signIn(
  authority: { readonly key: Buffer; readonly roots: Buffer },
  { name = 'east', usage = 'clientAuth', through }: NonNullable<Parameters<TestCallers['sign']>[0]>,
): Identity {
  const dir = mkdtempSync(join(tmpdir(), 'test-callers-'));
  const at = (file: string): string => join(dir, file);
  const openssl = (...args: string[]): void =>
    void execFileSync(programPath('openssl'), args, { stdio: 'pipe', cwd: dir });
  const request = (what: string): void =>
    openssl('req', '-new', ...EC, '-keyout', at(`${what}.key`), '-out', at(`${what}.csr`), '-subj', `/CN=${what}`);
  const signed = (what: string, by: string, extensions: string): void => {
    writeFileSync(at(`${what}.ext`), extensions);
    const ca = ['-CA', at(`${by}.crt`), '-CAkey', at(`${by}.key`)];
    openssl(
      'x509',
      '-req',
      '-in',
      at(`${what}.csr`),
      ...ca,
      '-extfile',
      at(`${what}.ext`),
      '-out',
      at(`${what}.crt`),
      '-days',
      '2',
    );
  };
  try {
    writeFileSync(at('ca.key'), authority.key);
    writeFileSync(at('ca.crt'), authority.roots);
    if (through !== undefined) {
      request(through);
      signed(through, 'ca', 'basicConstraints=critical,CA:TRUE\n');
    }
    request('leaf');
    signed('leaf', through ?? 'ca', `subjectAltName=DNS:${name}\nextendedKeyUsage=${usage}\n`);
    const chain = through === undefined ? [] : [readFileSync(at(`${through}.crt`), 'utf8')];
    return {
      key: readFileSync(at('leaf.key'), 'utf8'),
      certificate: [readFileSync(at('leaf.crt'), 'utf8'), ...chain].join(''),
    };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
