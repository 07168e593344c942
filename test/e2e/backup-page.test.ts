import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { sectionOf, stepsOf } from '../support/page-session.ts';
import { createPlayer, type Player } from '../support/play-page.ts';
import { noProgram } from '../support/programs.ts';

/** docs/guides/backup-and-restore.md: a fleet of two clusters is backed up, and restored in each of the three ways. */

const PAGES = join(import.meta.dirname, '../../docs');

let player: Player | undefined;
afterEach(() => player?.stop());

test.skipIf(noProgram('bash'))('a server is restored as the page says, and loses what the page says', async () => {
  const [relay, http, metrics] = [await freePort(), await freePort(), await freePort()];
  const read = (path: string): string =>
    readFileSync(join(PAGES, path), 'utf8')
      .replaceAll('127.0.0.1:9900', `127.0.0.1:${relay}`)
      .replaceAll('127.0.0.1:9980', `127.0.0.1:${http}`);
  const ports = `--listen 127.0.0.1:${relay} --http 127.0.0.1:${http} --metrics 127.0.0.1:${metrics}`;
  const typist = createPlayer({
    environment: { FLEETRELAY_API: `http://127.0.0.1:${http}` },
    typedAs: (command) =>
      command.startsWith('fleetrelay serve') ? `${command.replace('/home/you', '$PWD')} ${ports}` : command,
  });
  player = typist;
  const firstFleet = read('start/first-fleet.md');
  for (const title of ['A repository', 'The server', 'Two agents'])
    await typist.play(stepsOf(sectionOf(firstFleet, title)));
  // The agent of west ends, so that the page can say what is known of it.
  await typist.endJob(1);
  await typist.endServer();

  const page = read('guides/backup-and-restore.md');
  const server = join(typist.home, 'server');
  await typist.play(stepsOf(sectionOf(page, 'Back up')));
  rmSync(server, { recursive: true });
  await typist.play(stepsOf(sectionOf(page, 'Restore')));
  await typist.endServer();

  rmSync(server, { recursive: true });
  await typist.play([
    { line: 0, command: 'tar -xzf backup.tgz server/trust', output: [] },
    ...stepsOf(sectionOf(page, 'Restore')).filter(({ command }) => command.startsWith('fleetrelay serve')),
    ...stepsOf(sectionOf(page, 'With `trust/` alone')),
  ]);
  await typist.endServer();

  renameSync(server, join(typist.home, 'lost'));
  const [check, ...mended] = stepsOf(sectionOf(page, 'With nothing'));
  await typist.play([
    ...stepsOf(sectionOf(page, 'Restore')).filter(({ command }) => command.startsWith('fleetrelay serve')),
    ...(check === undefined ? [] : [check]),
  ]);
  await typist.endJob(0);
  expect(mended).toHaveLength(4);
  await typist.play(mended);
});
