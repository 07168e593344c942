import { expect, it } from 'vitest';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { stageFile } from '../../../src/runtime/replica/sources.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf } from '../../support/decoding.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

/** The number of times that names of documents are read while a Placement of a file with this number of documents goes away. */
function readsOf(count: number): number {
  const engine = createEngine(createGraph(), engineDomains);
  engine.inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role: 'leader' });
  engine.inputs.sources.set('', 'fleet', { order: 0, read: true });
  const decoded = (path: string, text: string) => decodeFile(path, bytesOf(text), text).reading;
  stageFile(engine, 'fleet', 'east.yaml', decoded('east.yaml', clusterYaml('east')));
  stageFile(engine, 'fleet', 'p.yaml', decoded('p.yaml', placementYaml('p', 'apps/**')));
  let reads = 0;
  const text = Array.from({ length: count }, (_, at) => configMapYaml(`c${at}`, '1')).join('---\n');
  const reading = decoded('apps/all.yaml', text);
  if (!reading.readable) throw new Error('the file is readable');
  const documents = reading.documents.map((document) => {
    const { content } = document;
    if (content.type !== 'object') throw new Error('each document declares an object');
    const counting = Object.defineProperty({ ...content }, 'ref', {
      enumerable: true,
      get: () => {
        reads += 1;
        return content.ref;
      },
    });
    return { ...document, content: counting };
  });
  stageFile(engine, 'fleet', 'apps/all.yaml', { ...reading, documents });
  engine.commit();
  for (const { key, value } of engine.outputs.entries('east')) {
    if (value.type !== 'object') continue;
    const { digest, origins, scope } = value;
    engine.inputs.ledger.set('east', key, { digest, origins, scope, phase: 'accepted' });
  }
  engine.commit();
  reads = 0;
  stageFile(engine, 'fleet', 'p.yaml', null);
  engine.commit();
  expect([...engine.outputs.entries('east')]).toHaveLength(count);
  return reads;
}

it('the work for the objects of one file that no rule places any more follows the number of its documents', () => {
  expect(readsOf(400)).toBeLessThanOrEqual(readsOf(40) * 11);
});
