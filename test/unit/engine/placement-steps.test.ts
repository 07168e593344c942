import { expect, it } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import { decodeFile } from '../../../src/manifest/decode-file.ts';
import { compileGlob } from '../../../src/model/glob.ts';
import { stageFile } from '../../../src/runtime/replica/sources.ts';
import { bytesOf } from '../../support/decoding.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

const heavy = `**/${'*a'.repeat(40)}x`;
const long = `${`${'a'.repeat(250)}/`.repeat(6)}a.yaml`;

/** Two sources: `platform` with a heavy Placement, and `team` with a file at a long path, which it places itself. */
function worldWith(files: readonly string[]) {
  const engine = createEngine(createGraph());
  engine.inputs.fleet.set('', '', {
    bounds: { guards: {}, safeModes: [], webhookRemediator: false },
    role: 'leader',
  });
  const file = (source: string, path: string, text: string): void =>
    stageFile(engine, source, path, decodeFile(path, bytesOf(text), text).reading);
  engine.inputs.sources.set('', 'platform', { order: 0, read: true, rights: { kinds: 'all', files } });
  engine.inputs.sources.set('', 'team', { order: 1, read: true, rights: { kinds: 'all', files: [] } });
  file('platform', 'east.yaml', clusterYaml('east'));
  file('platform', 'heavy.yaml', placementYaml('heavy', heavy));
  file('team', 'p.yaml', placementYaml('own', 'a.yaml'));
  file('team', long, configMapYaml('a', '1'));
  file('team', 'a.yaml', configMapYaml('b', '1'));
  engine.commit();
  return engine;
}

it('matches no globs of a Placement that may not select the source', () => {
  const engine = worldWith([]);
  expect(engineDiagnostics(engine).map(({ reason }) => reason)).toEqual(['GoesNowhere']);
  expect(engine.sourceProofs.get('', 'team')).toBe('complete');
});

it('a path that needs too many steps for the Placements of other sources fails alone, and its source removes nothing', () => {
  const engine = worldWith(['team']);
  expect(engineDiagnostics(engine)).toMatchObject([
    {
      reason: 'Failed',
      message: expect.stringMatching(
        /needs more than 100000 steps .* Placement heavy of source platform: give it a shorter/,
      ),
    },
  ]);
  expect(engine.sourceProofs.get('', 'team')).toBe('partial');
  expect(engine.sourceProofs.get('', 'platform')).toBe('complete');
  expect([...engine.outputs.entries('east')].map(({ key }) => key)).toEqual(['/ConfigMap/web/b']);
});

it('matches a path once for all documents of its file', () => {
  let steps = 0;
  const glob = compileGlob(heavy);
  const count = (more: number): void => {
    steps += more;
  };
  expect(glob.matchWith(long, count)).toBe(false);
  const first = steps;
  expect(glob.matchWith(long, count)).toBe(false);
  // The work is counted again, so that sums do not depend on the order of questions.
  expect(steps).toBe(2 * first);
  expect(glob.matchWith('a/aaaa.yaml', count)).toBe(false);
  expect(glob.matches('b')).toBe(false);
});
