import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDirectoryCluster } from '../../../src/adapters/directory/cluster.ts';
import { OWN_FOLDER } from '../../../src/adapters/directory/instance.ts';
import { createAgentDisk } from '../../../src/adapters/disk/agent-disk.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { createAgent } from '../../../src/agent/agent.ts';
import type { Digest } from '../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { createScriptedServer, namespace } from '../../support/agent-world.ts';
import { eventually } from '../../support/relay-poll.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fleetrelay-power-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** In canonical order, as everything arrives. */
const many = (prefix: string) =>
  Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`${prefix}-${n + 100}`, 'x'.repeat(50)]));
const crowded: JsonObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  data: many('d'),
  metadata: { name: 'crowded', namespace: 'web', labels: many('l'), annotations: many('a') },
};
const asJson: JsonObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'long', namespace: 'web' },
  data: { text: 'x'.repeat(70_000) },
};
const PATHS = [
  'cluster/namespace/web.yaml',
  'namespaces/web/configmap/crowded.yaml',
  'namespaces/web/configmap/long.yaml',
];
const BLOCK = 4096;

/** Nothing where there is nothing. */
function read(path: string): Buffer {
  const absolute = join(directory, path);
  return existsSync(absolute) ? readFileSync(absolute) : Buffer.alloc(0);
}

/** An agent of the folder; its server says only what the test says. */
async function startAgent(expected: { held: Map<ObjectKey, Digest>; sequence: number }) {
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createRecordingLog() };
  const cluster = await createDirectoryCluster(deps, { directory });
  const disk = createAgentDisk(deps, { folder: join(directory, OWN_FOLDER) });
  const { client, server } = createScriptedServer(expected);
  const agent = createAgent({ ...deps, cluster, disk, relay: client });
  await agent.start();
  return {
    server,
    stop: async () => {
      await agent.stop();
      await disk.close();
      await cluster.close();
    },
  };
}

/** Remains of a new file after a power failure: complete blocks from its beginning, zeros, or nothing. */
const left: readonly [string, (intact: Buffer) => Buffer | undefined][] = [
  ['nothing', () => undefined],
  ['empty files', () => Buffer.alloc(0)],
  ['zeros', (intact) => Buffer.alloc(intact.length)],
  ['the first block', (intact) => intact.subarray(0, BLOCK)],
  ['the first block and zeros', (intact) => Buffer.concat([intact.subarray(0, BLOCK), Buffer.alloc(intact.length)])],
  ['all blocks but the last', (intact) => intact.subarray(0, Math.floor((intact.length - 1) / BLOCK) * BLOCK)],
];

test.each(left)(
  'when a power failure has left %s, an agent without a server puts everything back',
  async (_what, tear) => {
    const expected = { held: new Map<ObjectKey, Digest>(), sequence: 0 };
    const first = await startAgent(expected);
    first.server.connect();
    await first.server.say({ upserts: [namespace('web'), crowded, asJson] });
    await eventually('everything is applied', () => Object.keys(first.server.lastResults()).length === 3);
    await first.stop();
    const intact = PATHS.map(read);
    expect(intact[2]?.toString().startsWith('{')).toBe(true);
    for (const [index, path] of PATHS.entries()) {
      const rest = tear(intact[index] ?? Buffer.alloc(0));
      if (rest === undefined) rmSync(join(directory, path));
      else writeFileSync(join(directory, path), rest);
    }
    const second = await startAgent(expected);
    await eventually('everything is put back', () => PATHS.every((path, index) => intact[index]?.equals(read(path))));
    await second.stop();
  },
);
