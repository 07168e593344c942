import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runAgent } from '../../../src/compose/agent/agent.ts';
import type { AgentOptions, RunIo, ServeOptions } from '../../../src/compose/options.ts';
import { refuseMissing } from '../../../src/compose/preflight.ts';
import { runServe } from '../../../src/compose/serve/serve.ts';
import type { ClusterName } from '../../../src/model/fleet/ids.ts';
import { freePort } from '../../support/free-port.ts';

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'fleetrelay-preflight-'));
  mkdirSync(join(cwd, 'fleet'));
  writeFileSync(join(cwd, 'east.token'), 'frt1_token');
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

function io(isTerminal: boolean): RunIo & { readonly said: string[] } {
  const said: string[] = [];
  const err = (text: string): void => void said.push(text);
  return { said, out: () => undefined, err, colour: false, isTerminal, env: {}, cwd, version: '0.0.0' };
}

const agent: AgentOptions = {
  ...{ cluster: 'east' as ClusterName, server: { host: '127.0.0.1', port: 1 }, directory: 'live', insecure: false },
  ...{ logLevel: 'error', tokenFile: 'east.token' },
};
const serve: ServeOptions = { tlsName: [], relaySecretFile: [], logLevel: 'error', folder: 'fleet' };
const never = new AbortController().signal;

describe('on a terminal', () => {
  test.each([
    [{ tokenFile: 'none' }, /none \(--token-file\): where the server runs: fleetrelay cluster token east/],
    [{ caFile: 'none' }, /none \(--ca-file\): it is trust\/ca\.crt in the data directory of the server/],
    [{ certificate: { certFile: 'none', keyFile: 'east.token' } }, /none \(--cert-file\)/],
  ])('an agent with %j fails at once', async (over, message) => {
    await expect(runAgent({ ...agent, ...over }, never, io(true))).rejects.toThrow(message);
  });

  test.each([
    [{ folder: 'none' }, /none \(--folder\): make it with `fleetrelay init DIR`/],
    [{ folder: 'east.token' }, /east\.token \(--folder\) is no folder/],
    [{ repoTokenFile: 'none' }, /none \(--repo-token-file\)/],
    [{ config: 'none' }, /none \(--config\)/],
  ])('a server with %j fails at once', async (over, message) => {
    await expect(runServe({ ...serve, ...over }, never, io(true))).rejects.toThrow(message);
  });

  test('a server fails at once if its Redis does not answer', async () => {
    const store = { type: 'redis', redis: { nodes: [`127.0.0.1:${await freePort()}`], database: 0 } };
    const options = { ...serve, dataDir: 'data', store };
    await expect(runServe(options, never, io(true))).rejects.toThrow(/the store cannot be used: .*start it, or name/);
  });
});

test('elsewhere nothing is looked at: what is missing is waited for', async () => {
  const needed = [['--token-file', 'none', 'file', 'make it']] as const;
  await expect(refuseMissing(needed, io(false))).resolves.toBeUndefined();
  await expect(refuseMissing(needed, io(true))).rejects.toThrow('there is no file');
});

test('a server says the next step where its log is text, and only there', async () => {
  const address = { host: '127.0.0.1', port: 0 };
  const options = { ...serve, dataDir: 'data', listen: address, http: address, metrics: address };
  const run = async (logFormat: 'auto' | 'text', isTerminal: boolean): Promise<string> => {
    const end = new AbortController();
    const { said, err, ...rest } = io(isTerminal);
    const ended = runServe({ ...options, logFormat }, end.signal, {
      ...{ ...rest, said, err },
      opening: (part) => (part === 'the release of idle memory' ? void setTimeout(() => end.abort(), 0) : undefined),
    });
    await ended.catch(() => undefined);
    return said.join('');
  };
  expect(await run('text', false)).toMatch(
    /fleetrelay agent --cluster NAME --server 127\.0\.0\.1:\d+ .*--ca-file \S+ca\.crt/,
  );
  expect(await run('auto', false)).not.toContain('fleetrelay agent');
});
