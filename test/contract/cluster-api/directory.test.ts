import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { dump, load } from 'js-yaml';
import { afterAll } from 'vitest';
import { createDirectoryCluster } from '../../../src/adapters/directory/cluster.ts';
import { pathOfObject } from '../../../src/adapters/directory/object-file.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { type ClusterHarness, clusterContract, keyOf } from './suite.ts';

const root = mkdtempSync(join(tmpdir(), 'fleetrelay-directory-'));
const opened: ClusterApi[] = [];
let count = 0;
afterAll(async () => {
  for (const cluster of opened) await cluster.close();
  rmSync(root, { recursive: true, force: true });
});

clusterContract('directory', async (): Promise<ClusterHarness> => {
  count += 1;
  const directory = join(root, `${count}`);
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createRecordingLog() };
  const open = async () => {
    const cluster = await createDirectoryCluster(deps, { directory });
    opened.push(cluster);
    return cluster;
  };
  let cluster = await open();
  const pathOf = (value: JsonObject) => join(directory, 'mine', `${keyOf(value).replaceAll('/', '_')}.yaml`);
  return {
    cluster,
    reopen: async () => {
      await cluster.close();
      cluster = await open();
      return cluster;
    },
    personPuts: (value) => {
      mkdirSync(dirname(pathOf(value)), { recursive: true });
      writeFileSync(pathOf(value), dump(value));
    },
    personEdits: (key, change) => {
      const path = join(directory, pathOfObject(key));
      const { metadata, ...rest } = load(readFileSync(path, 'utf8')) as JsonObject;
      writeFileSync(path, dump({ ...change({ ...rest }), metadata }));
    },
    personRemoves: (key) => {
      for (const path of [
        join(directory, pathOfObject(key)),
        join(directory, 'mine', `${key.replaceAll('/', '_')}.yaml`),
      ]) {
        rmSync(path, { force: true });
      }
    },
    pause: (on) => {
      if (on) writeFileSync(join(directory, 'paused'), '');
      else rmSync(join(directory, 'paused'));
    },
  };
});
