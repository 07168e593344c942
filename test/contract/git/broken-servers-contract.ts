import { readdirSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSmartHttpServer, type SmartHttpServer } from '../../../scripts/local/smart-http-server.ts';
import type { GitRepoOptions } from '../../../src/adapters/git/repo-options.ts';
import type { GitRepo } from '../../../src/ports/git-repo.ts';
import { createGitSandbox, type GitSandbox } from '../../support/git-sandbox.ts';
import { type Closer, listening } from '../../support/listening.ts';

const secret = 'hunter2-Secret';

/** Command lines of processes that name a text. */
export function processesWith(text: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .filter((line) => line.includes(text));
}

/** What every adapter does with a server that is broken or means ill. */
export function describeBrokenServers(name: string, repoOf: (options: GitRepoOptions) => GitRepo): void {
  describe(`${name}: a server`, () => {
    let box: GitSandbox;
    let bare: string;
    let server: SmartHttpServer;
    let port: number;
    let password: string;
    let closers: Closer[];

    beforeEach(async () => {
      box = createGitSandbox();
      bare = box.bare('fleet');
      box.push(bare, { 'a.yaml': 'a' });
      password = secret;
      const authenticate = (request: { readonly password: string | undefined }) => request.password === password;
      server = createSmartHttpServer({ root: box.served, searchPath: process.env.PATH ?? '', authenticate });
      port = (await server.start()).port;
      closers = [];
    });
    afterEach(async () => {
      for (const close of closers.reverse()) await close();
      await server.stop();
      box.remove();
    });

    const open = (remote: string, more: Partial<GitRepoOptions> = {}): GitRepo => {
      const directory = join(box.path, 'copy');
      const repo = repoOf({ remote, branch: 'main', directory, credentials: async () => ({ secret }), ...more });
      closers.push(repo.close);
      return repo;
    };

    test('that does not know the credentials says so, and they are never shown', async () => {
      password = 'another';
      const outcome = await open(`http://127.0.0.1:${port}/fleet.git`).fetch();
      expect(outcome).toMatchObject({ type: 'failed', reason: 'Unauthorized' });
      const text = JSON.stringify(outcome);
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(`x-access-token:${secret}`).toString('base64'));
    });

    test('that redirects leads no credentials elsewhere', async () => {
      const seen: unknown[] = [];
      const thief = await listening(
        closers,
        createHttpServer((request, response) => {
          seen.push(request.headers.authorization);
          response.writeHead(404).end();
        }),
      );
      const front = await listening(
        closers,
        createHttpServer((request, response) => {
          response.writeHead(302, { location: thief.replace('/fleet.git', request.url ?? '') }).end();
        }),
      );
      const outcome = await open(front).fetch();
      expect(outcome).toMatchObject({ type: 'failed', reason: 'Unreachable' });
      expect(JSON.stringify(outcome)).toContain('configure the address it leads to');
      expect(seen).toEqual([]);
    });

    test('that is not there is unreachable', async () => {
      const remote = await listening(closers, createServer());
      await closers.pop()?.();
      expect(await open(remote).fetch()).toMatchObject({ type: 'failed', reason: 'Unreachable' });
    });

    test('that never answers ends at the deadline, when the caller stops, and when it closes', async () => {
      let connected: () => void = () => undefined;
      const remote = await listening(
        closers,
        createServer(() => connected()),
      );
      const early = open(remote, { deadlineSeconds: 0.5, cloneDeadlineSeconds: 0.5 });
      expect(await early.fetch()).toMatchObject({ type: 'failed', reason: 'TimedOut' });
      await expect.poll(() => processesWith(remote)).toEqual([]);
      const repo = open(remote);
      const connection = new Promise<void>((resolve) => {
        connected = resolve;
      });
      const stopping = new AbortController();
      const stopped = repo.fetch(stopping.signal);
      await connection;
      stopping.abort();
      expect(await stopped).toMatchObject({ type: 'failed', reason: 'Stopped' });
      const closed = repo.fetch();
      await repo.close();
      expect(await closed).toMatchObject({ type: 'failed', reason: 'Stopped' });
      await expect.poll(() => processesWith(remote)).toEqual([]);
    });

    test('that breaks off in the middle is a failure, and the next fetch is complete', async () => {
      let cut = true;
      let passed = 0;
      const remote = await listening(
        closers,
        createServer((client) => {
          const upstream = connect(port, '127.0.0.1');
          client.on('error', () => upstream.destroy()).pipe(upstream);
          upstream.on('error', () => client.destroy());
          upstream.on('data', (chunk: Buffer) => {
            passed += chunk.length;
            if (cut && passed > 20_000) client.destroy();
            else client.write(chunk);
          });
          upstream.on('end', () => client.end());
        }),
      );
      const noise = Array.from({ length: 4000 }, (_, index) => `${Math.sin(index)}`).join('');
      const commit = box.push(bare, { 'noise.yaml': noise });
      const repo = open(remote);
      expect(await repo.fetch()).toMatchObject({ type: 'failed', reason: 'Unreachable' });
      cut = false;
      expect(await repo.fetch()).toEqual({ type: 'fetched', commit });
      expect(await repo.diff(null, commit, '')).toHaveLength(2);
    });

    test('that answers with something else is a failure in plain words', async () => {
      const remote = await listening(
        closers,
        createHttpServer((_request, response) => {
          response.writeHead(200, { 'content-type': 'text/html' }).end('<html>\u001b[2Jsign in</html>'.repeat(1000));
        }),
      );
      const outcome = await open(remote).fetch();
      expect(outcome.type).toBe('failed');
      expect(JSON.stringify(outcome).length).toBeLessThan(1500);
      expect(JSON.stringify(outcome)).not.toContain('u001b');
    });
  });
}
