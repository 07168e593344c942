import { describe, expect, it } from 'vitest';
import { openDecoder } from '../../../src/compose/decoding/decode-with-warnings.ts';
import { parseSourceName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import { createFilesSource } from '../../../src/sources/files/files-source.ts';
import { createFakeFileTree } from '../../support/files-fake-tree.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createSourceRecorder } from '../../support/source-recorder.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const decode = await openDecoder();

const THREE_REPLICAS = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: three
  selector: { matchLabels: { app: web } }
  template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: web }] } }
`;

function found(text: string): readonly string[] {
  const { diagnostics } = decode('a.yaml', new TextEncoder().encode(text), '');
  return diagnostics.map(({ severity, reason, at }) => `${severity} ${reason} ${at?.line}`);
}

describe('the decoder of servers', () => {
  it('warns of what an API server would refuse, and the source stays complete', async () => {
    const clock = createVirtualClock();
    const tree = createFakeFileTree();
    tree.write({ 'web.yaml': THREE_REPLICAS });
    const source = createFilesSource(
      { tree, decode, clock, random: { next: () => 0.5, id: () => 'id' }, log: createKeptLog() },
      { name: must(parseSourceName('folder')), rescanSeconds: 30, settleMs: 200, maxFileBytes: 10_000 },
    );
    const told = createSourceRecorder();
    source.start(told, undefined, []);
    await clock.advance(200);
    expect(told.observations).toMatchObject([
      {
        state: 'complete',
        diagnostics: [{ severity: 'warning', reason: 'WrongType', at: { path: 'web.yaml', line: 5 } }],
      },
    ]);
    await source.stop();
  });

  it('says nothing of kinds and versions that it does not know', () => {
    expect(found('apiVersion: apps/v2\nkind: Deployment\nmetadata: { name: a }\n')).toEqual([]);
    expect(found('apiVersion: apps/v1\nkind: Newest\nmetadata: { name: a }\n')).toEqual([]);
    expect(found('apiVersion: example.com/v1\nkind: Thing\nmetadata: { name: a }\n')).toEqual([]);
  });
});
