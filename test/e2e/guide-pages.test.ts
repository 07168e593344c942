import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { sectionOf, stepsOf } from '../support/page-session.ts';
import { createPlayer, type Player } from '../support/play-page.ts';
import { noProgram } from '../support/programs.ts';
import { type RedisProcess, startRedis } from '../support/redis.ts';

/** Guides that are typed as they stand there, with the first fleet of docs/start: each command prints what the page says. */

const PAGES = join(import.meta.dirname, '../../docs');

let player: Player | undefined;
let redis: RedisProcess | undefined;
afterEach(async () => {
  await player?.stop();
  await redis?.stop();
  redis = undefined;
});

/** A reader who has ports of their own; `more` are further addresses of the pages, and what stands for them. */
async function openReader(more: Readonly<Record<string, string>> = {}) {
  const [relay, http, metrics] = [await freePort(), await freePort(), await freePort()];
  const addresses = { '127.0.0.1:9900': `127.0.0.1:${relay}`, '127.0.0.1:9980': `127.0.0.1:${http}`, ...more };
  const ports = `--listen 127.0.0.1:${relay} --http 127.0.0.1:${http} --metrics 127.0.0.1:${metrics}`;
  const isServer = (command: string): boolean =>
    command.startsWith('fleetrelay serve') && !command.includes('--listen');
  player = createPlayer({
    environment: { FLEETRELAY_API: `http://127.0.0.1:${http}`, FLEETRELAY_USER: 'ann' },
    typedAs: (command) => (isServer(command) ? `${command.replace(/ &$/, '')} ${ports}` : command),
  });
  const read = (path: string): string =>
    Object.entries(addresses).reduce(
      (page, [shown, typed]) => page.replaceAll(shown, typed),
      readFileSync(join(PAGES, path), 'utf8'),
    );
  return { typist: player, read };
}

test.skipIf(noProgram('bash'))('a branch is planned, credentials are renewed, and the audit log says so', async () => {
  const { typist, read } = await openReader();
  const firstFleet = read('start/first-fleet.md');
  for (const title of ['A repository', 'The server', 'Two agents'])
    await typist.play(stepsOf(sectionOf(firstFleet, title)));
  const plan = stepsOf(read('guides/plan.md'));
  expect(plan).toHaveLength(8);
  await typist.play([{ line: 0, command: 'cd fleet', output: [] }, ...plan]);
  const certificates = stepsOf(read('guides/certificates.md'));
  expect(certificates).toHaveLength(2);
  await typist.play([{ line: 0, command: 'cd ..', output: [] }, ...certificates]);
  const people = stepsOf(read('guides/people.md'));
  expect(people).toHaveLength(1);
  await typist.play(people);
});

test.skipIf(noProgram('bash', 'redis-server'))(
  'two servers share a Redis, and the second one leads after the first',
  async () => {
    redis = await startRedis();
    const [relay, http, metrics] = [await freePort(), await freePort(), await freePort()];
    const { typist, read } = await openReader({
      '127.0.0.1:6379': `127.0.0.1:${redis.port}`,
      '0.0.0.0:9901': `127.0.0.1:${relay}`,
      '127.0.0.1:9982': `127.0.0.1:${http}`,
      '127.0.0.1:9983': `127.0.0.1:${metrics}`,
    });
    await typist.play(stepsOf(sectionOf(read('start/first-fleet.md'), 'A repository')));
    const steps = stepsOf(read('guides/replicas.md'));
    expect(steps).toHaveLength(6);
    await typist.play(steps);
    // This server has another port than the usual one, so what it suggests names it.
    expect(typist.printed()).toMatch(/^then: fleetrelay status --api http:\/\/127\.0\.0\.1:\d+$/m);
  },
);
