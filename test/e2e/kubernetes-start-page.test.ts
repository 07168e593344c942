import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { sectionOf, stepsOf } from '../support/page-session.ts';
import { createPlayer, type Player } from '../support/play-page.ts';
import { noProgram, programPath } from '../support/programs.ts';

/** docs/start/kubernetes.md up to kind, on an API server of its own: what is installed concerns the complete cluster. */

const PAGES = join(import.meta.dirname, '../../docs/start');
const isSkipped = noProgram('bash') || noProgram('kube-apiserver');

let plane: ControlPlane | undefined;
let player: Player | undefined;

beforeAll(async () => {
  if (!isSkipped) plane = await startControlPlane();
});

afterAll(async () => {
  await player?.stop();
  await plane?.stop();
});

test.skipIf(isSkipped)(
  'an agent is installed, applies the repository, and is taken away as the page says',
  async () => {
    const [relay, http, metrics] = [await freePort(), await freePort(), await freePort()];
    const read = (name: string): string =>
      readFileSync(join(PAGES, name), 'utf8')
        .replaceAll('127.0.0.1:9900', `127.0.0.1:${relay}`)
        .replaceAll('127.0.0.1:9980', `127.0.0.1:${http}`);
    const ports = `--listen 127.0.0.1:${relay} --http 127.0.0.1:${http} --metrics 127.0.0.1:${metrics}`;
    const typist = createPlayer({
      environment: { FLEETRELAY_API: `http://127.0.0.1:${http}`, KUBECONFIG: plane?.kubeconfig() ?? '' },
      path: dirname(programPath('kubectl')),
      typedAs: (command) => (command.startsWith('fleetrelay serve') ? `${command} ${ports}` : command),
    });
    player = typist;
    const firstFleet = read('first-fleet.md');
    for (const title of ['A repository', 'The server']) {
      // The page begins with one cluster.
      const steps = stepsOf(sectionOf(firstFleet, title)).filter(({ command }) => !/ west | validate$/.test(command));
      await typist.play(
        steps.map((step) =>
          step.command.startsWith('fleetrelay serve') ? { ...step, output: step.output.slice(0, 3) } : step,
        ),
      );
    }
    const page = read('kubernetes.md');
    const titles = ['With the server on your machine', 'Without an image', 'Look', 'Take it away'];
    const steps = titles.flatMap((title) => stepsOf(sectionOf(page, title)));
    expect(steps.length).toBeGreaterThan(10);
    await typist.play(steps);
  },
);
