import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { stepsOf } from '../support/page-session.ts';
import { createPlayer, type Player } from '../support/play-page.ts';
import { noProgram } from '../support/programs.ts';

/** The pages of docs/start, typed as they stand there: each command prints what the page says. */

const PROJECT = join(import.meta.dirname, '../..');
const pageOf = (name: string): string => readFileSync(join(PROJECT, 'docs/start', name), 'utf8');

let player: Player | undefined;
afterEach(() => player?.stop());

test.skipIf(noProgram('bash'))('the first fleet is made, pushed to and rolled back as the page says', async () => {
  const [relay, http, metrics] = [await freePort(), await freePort(), await freePort()];
  const page = pageOf('first-fleet.md')
    .replaceAll('127.0.0.1:9900', `127.0.0.1:${relay}`)
    .replaceAll('127.0.0.1:9980', `127.0.0.1:${http}`);
  // The server must not have looked by itself before it is told to.
  const ports = `--poll 3600 --listen 127.0.0.1:${relay} --http 127.0.0.1:${http} --metrics 127.0.0.1:${metrics}`;
  player = createPlayer({
    environment: { FLEETRELAY_API: `http://127.0.0.1:${http}` },
    typedAs: (command) => (command.startsWith('fleetrelay serve') ? `${command} ${ports}` : command),
  });
  const steps = stepsOf(page).filter(({ command }) => !command.includes('ln -s '));
  expect(steps.length).toBeGreaterThan(25);
  await player.play(steps);
});

test.skipIf(noProgram('bash'))('the demo does what the page says', async () => {
  const steps = stepsOf(pageOf('try.md')).filter(({ command }) => command !== 'npm ci');
  const start = steps.findIndex(({ command }) => command === 'npm start');
  expect(start).toBe(0);
  expect(steps.length).toBeGreaterThan(10);
  let settings = '';
  player = createPlayer({
    typedAs: (command) => {
      if (command === 'npm start') return `'${process.execPath}' '${join(PROJECT, 'scripts/demo.ts')}'`;
      const digest = "$(fleetrelay approve --list | awk 'NR == 2 { print $1 }')";
      return settings + command.replace(/^fleetrelay approve [0-9a-f]{12}$/, `fleetrelay approve ${digest}`);
    },
  });
  await player.play(steps.slice(0, 1));
  const said = player.printed();
  const [, folder = ''] = /It lives in (\S+);/.exec(said) ?? [];
  const [, api] = /--api (\S+)/.exec(said) ?? [];
  const server = api === undefined ? '' : `export FLEETRELAY_API='${api}'; `;
  settings = `demo='${folder}'; ${server}`;
  await player.play(steps.slice(1));
});
