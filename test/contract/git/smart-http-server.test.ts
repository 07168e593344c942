import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createSmartHttpServer,
  type GitHttpRequest,
  type SmartHttpServer,
} from '../../../scripts/local/smart-http-server.ts';
import { createGitSandbox, type GitSandbox, hermeticGit, writeFiles } from '../../support/git-sandbox.ts';

const run = promisify(execFile);
let box: GitSandbox;
let server: SmartHttpServer;
let url: string;
let asked: GitHttpRequest[];
let pushed: string[];
let allow: (request: GitHttpRequest) => boolean;

beforeEach(async () => {
  box = createGitSandbox();
  box.push(box.bare('team/fleet'), { 'a.yaml': 'a' });
  asked = [];
  pushed = [];
  allow = () => true;
  server = createSmartHttpServer({
    root: box.served,
    searchPath: process.env.PATH ?? '',
    maxRequestBytes: 4_000_000,
    authenticate: (request) => {
      asked.push(request);
      return allow(request);
    },
    pushed: (repository) => pushed.push(repository),
  });
  ({ url } = await server.start());
});

afterEach(async () => {
  await server.stop();
  box.remove();
});

const git = async (directory: string, ...args: string[]): Promise<string> =>
  (await run('git', args, { cwd: directory, env: hermeticGit })).stdout.trim();

describe('git over smart HTTP', () => {
  test('clone, fetch and push, large and small', async () => {
    const work = join(box.path, 'work');
    await git(box.path, 'clone', '--quiet', `${url}/team/fleet.git`, work);
    const noise = Array.from({ length: 80_000 }, (_, index) => `${Math.sin(index)}`).join('');
    writeFiles(work, { 'b.yaml': 'b', 'noise.txt': noise });
    await git(work, 'add', '.');
    await git(work, 'commit', '--quiet', '-m', 'more');
    await git(work, 'push', '--quiet', 'origin', 'HEAD:main');
    expect(pushed).toEqual(['team/fleet']);
    expect(box.git(join(box.served, 'team/fleet.git'), 'rev-parse', 'main')).toBe(await git(work, 'rev-parse', 'HEAD'));
    await git(work, 'pull', '--quiet', '--rebase', 'origin', 'main');
    expect(asked.map(({ service }) => service)).toContain('push');
  });

  test('checks credentials, and asks for missing ones', async () => {
    allow = ({ username, password, service }) => service === 'fetch' || (username === 'ada' && password === 'p:w');
    const work = join(box.path, 'work');
    await git(box.path, 'clone', '--quiet', `${url}/team/fleet.git`, work);
    await git(work, 'commit', '--quiet', '--allow-empty', '-m', 'x');
    await expect(git(work, 'push', '--quiet', 'origin', 'HEAD:main')).rejects.toThrow(/could not read Username/);
    expect(pushed).toEqual([]);
    await git(work, 'push', '--quiet', `${url.replace('//', '//ada:p%3Aw@')}/team/fleet.git`, 'HEAD:main');
    expect(pushed).toEqual(['team/fleet']);
  });

  test('accepts a body in gzip', async () => {
    const body = gzipSync(Buffer.from('0014command=ls-refs\n00010009peel\n0000'.replace('0009peel\n', '')));
    const response = await fetch(`${url}/team/fleet.git/git-upload-pack`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-git-upload-pack-request',
        'content-encoding': 'gzip',
        'git-protocol': 'version=2',
      },
      body,
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('refs/heads/main');
  });
});

describe('a request that is not of git', () => {
  test.each([
    ['/team/fleet.git/info/refs', 403],
    ['/team/fleet.git/info/refs?service=git-evil', 403],
    ['/team/fleet.git/HEAD', 404],
    ['/team/fleet.git/objects/info/packs', 404],
    ['/team/none.git/info/refs?service=git-upload-pack', 404],
    ['/team/fleet.git/git-upload-pack', 405],
    ['/', 404],
    ['/%2e%2e/%2e%2e/etc.git/info/refs?service=git-upload-pack', 404],
    ['/team/..%2f..%2fx.git/info/refs?service=git-upload-pack', 404],
    ['/.hidden.git/info/refs?service=git-upload-pack', 404],
  ])('%s is answered with %d', async (path, status) => {
    expect((await fetch(`${url}${path}`)).status).toBe(status);
  });

  test('a path with dots cannot leave the root', async () => {
    const { port } = new URL(url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(
          'GET /../../x.git/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
        );
      });
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('end', () => resolve(text));
      socket.on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1.1 404/);
  });

  test('a body that is too large is refused, announced or not', async () => {
    const announced = await fetch(`${url}/team/fleet.git/git-receive-pack`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-git-receive-pack-request' },
      body: Buffer.alloc(4_000_001),
    });
    expect(announced.status).toBe(413);
    const work = join(box.path, 'work');
    await git(box.path, 'clone', '--quiet', `${url}/team/fleet.git`, work);
    writeFileSync(join(work, 'noise'), randomBytes(6_000_000));
    await git(work, 'add', '.');
    await git(work, 'commit', '--quiet', '-m', 'large');
    await expect(git(work, 'push', '--quiet', 'origin', 'HEAD:main')).rejects.toThrow();
    expect(pushed).toEqual([]);
    expect(await git(work, 'ls-remote', 'origin', 'main')).not.toContain(await git(work, 'rev-parse', 'HEAD'));
  });
});

test('can be stopped during requests', async () => {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()).on('error', () => undefined));
  socket.write(
    'POST /team/fleet.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-git-upload-pack-request\r\nContent-Length: 100\r\n\r\n0',
  );
  await expect.poll(() => asked.length).toBe(1);
  await server.stop();
  await ended;
});
