import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Child, startChild } from '../../scripts/local/child.ts';
import { PROGRAM } from '../support/fleet-processes.ts';
import { createGitSandbox, type GitSandbox } from '../support/git-sandbox.ts';
import { noProgram } from '../support/programs.ts';
import { type Sshd, startSshd } from '../support/sshd.ts';

const POLICY = 'apiVersion: fleetrelay.dev/v1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {}\n';

describe.skipIf(noProgram('sshd', 'ssh-keygen'))('a server of a repository over SSH', () => {
  let box: GitSandbox;
  let sshd: Sshd;
  let server: Child | undefined;
  beforeEach(async () => {
    box = createGitSandbox();
    sshd = await startSshd();
  });
  afterEach(async () => {
    await server?.stop();
    await sshd.stop();
    box.remove();
  });

  function serve(url: string, git = {}): Child {
    const listen = { address: '127.0.0.1', port: 0 };
    const config = {
      apiVersion: 'fleetrelay.dev/v1alpha1',
      kind: 'RelayConfig',
      fleet: { name: 'shop' },
      dataDirectory: join(box.path, 'data'),
      sources: [{ name: 'main', git: { url, branch: 'main', pollIntervalSeconds: 1, ssh: sshd.files } }],
      relay: { listen },
      http: { listen },
      metrics: { listen },
      git,
    };
    const file = join(box.path, 'relay.json');
    writeFileSync(file, JSON.stringify(config));
    server = startChild({ file: PROGRAM, env: process.env }, ['serve', '--config', file, '--log-level', 'info']);
    return server;
  }

  test('follows it and writes its status branch', async () => {
    const bare = box.bare('fleet');
    box.push(bare, { 'policy.yaml': POLICY });
    await serve(sshd.urlOf(bare)).logged('the server is up');
    const branch = 'refs/heads/fleetrelay/status/shop';
    await expect.poll(() => box.git(bare, 'for-each-ref', branch), { timeout: 60_000 }).not.toBe('');
    const second = box.push(bare, { 'a/policy.yaml': POLICY.replace('name: fleet', 'name: other') });
    await expect.poll(() => seen(bare, branch, second), { timeout: 60_000 }).toBe(true);
  });

  test('ends with a sentence where the git program is not used', async () => {
    const child = serve('git@127.0.0.1:fleet.git', { adapter: 'isomorphic' });
    await expect(child.logged('the server is up')).rejects.toThrow(
      /of the source main is reached by SSH, which only the git program can: .*set git\.adapter to auto or native/,
    );
  });

  /** True if a file of the branch names the commit. */
  function seen(bare: string, branch: string, commit: string): boolean {
    try {
      return box.git(bare, 'grep', '-l', commit, branch) !== '';
    } catch {
      return false;
    }
  }
});
