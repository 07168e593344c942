import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createDirectoryCluster } from '../../src/adapters/directory/cluster.ts';
import { pathOfObject, readLiveFile } from '../../src/adapters/directory/object-file.ts';
import { createAgentDisk } from '../../src/adapters/disk/agent-disk.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import type { ObjectKey } from '../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import type { AgentDisk } from '../../src/ports/agent-disk.ts';
import type { ClusterApi } from '../../src/ports/cluster-api.ts';
import { createMemoryCluster } from './agent-cluster.ts';
import { createMemoryDisk } from './agent-disk.ts';
import type { HistoryHome, Name } from './agent-history.ts';
import { createRecordingLog } from './agent-log.ts';
import { configMap, keyOf } from './agent-world.ts';

const theirs = (name: Name): JsonObject => configMap(name, 'theirs');

/**
 * In memory; objects that a person renames or copies are theirs from then on. `view`: every list returns one view that
 * keeps changing, with the changed keys, and its objects have ids, as with an API server.
 */
export function createMemoryHome(options: { readonly view: boolean } = { view: false }): HistoryHome {
  const memory = createMemoryCluster();
  if (options.view) memory.view();
  memory.identify = options.view;
  const disk = createMemoryDisk();
  const foreign = new Map<ObjectKey, JsonObject>();
  return {
    open: async () => ({ cluster: memory.open(), disk: disk.open() }),
    release: async () => {},
    pause: memory.pause,
    person: (what, name) => {
      const key = keyOf(configMap(name, ''));
      const isOurs = memory.objects.get(key)?.stamp !== undefined;
      if (what === 'edits' && isOurs) memory.personPuts(key, configMap(name, 'drift'));
      if (what === 'removes') {
        foreign.delete(key);
        memory.personRemoves(key);
      }
      if (what === 'takes over' || (what === 'creates' && !memory.objects.has(key))) {
        const value = theirs(name);
        foreign.set(key, value);
        memory.personPuts(key, value, 'drop');
      }
    },
    checkForeign: () => {
      for (const [key, value] of foreign) {
        const live = memory.objects.get(key);
        if (live?.stamp !== undefined || live?.value !== value) throw new Error(`${key} of a person was touched`);
      }
    },
    hasForeign: (key) => foreign.has(key),
    ours: () =>
      new Map([...memory.objects].flatMap(([key, { value, stamp }]) => (stamp ? [[key, value] as const] : []))),
  };
}

/** A real folder, under the folder for temporary files; `remove` deletes it. */
export function createDirectoryHome(): HistoryHome & { remove(): void } {
  const root = mkdtempSync(join(tmpdir(), 'fleetrelay-history-'));
  const directory = join(root, 'cluster');
  /** By path: what a person wrote. */
  const foreign = new Map<string, string>();
  let opened: { readonly cluster: ClusterApi; readonly disk: AgentDisk } | undefined;
  const at = (path: string): string => join(directory, path);
  const homeOf = (name: Name): string => pathOfObject(keyOf(configMap(name, '')));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
    foreign.set(path, text);
  };
  return {
    open: async (clock) => {
      const deps = { clock, random: createSystemRandom(), log: createRecordingLog() };
      const cluster = await createDirectoryCluster(deps, { directory });
      opened = { cluster, disk: createAgentDisk(deps, { folder: join(root, 'disk') }) };
      return opened;
    },
    release,
    remove: () => rmSync(root, { recursive: true, force: true }),
    pause: (on) => (on ? writeFileSync(at('paused'), '') : rmSync(at('paused'), { force: true })),
    person: (what, name) => {
      const [home, mine, copy] = [homeOf(name), `mine/${name}.yaml`, `backup/${name}.yaml`];
      const isOurs = existsSync(at(home)) && !foreign.has(home);
      if (what === 'edits' && isOurs)
        writeFileSync(at(home), readFileSync(at(home), 'utf8').replace(/k: .*/, 'k: drift'));
      if (what === 'takes over') write(home, JSON.stringify(theirs(name)));
      if (what === 'creates') write(mine, JSON.stringify(theirs(name)));
      if (what === 'removes') {
        for (const path of [home, mine, copy]) {
          rmSync(at(path), { force: true });
          foreign.delete(path);
        }
      }
      if ((what === 'renames' || what === 'copies') && isOurs) {
        const to = what === 'renames' ? mine : copy;
        mkdirSync(dirname(at(to)), { recursive: true });
        if (what === 'renames') renameSync(at(home), at(to));
        else copyFileSync(at(home), at(to));
        foreign.set(to, readFileSync(at(to), 'utf8'));
      }
    },
    checkForeign: () => {
      for (const [path, text] of foreign) {
        if (!existsSync(at(path)) || readFileSync(at(path), 'utf8') !== text)
          throw new Error(`${path} of a person was touched`);
      }
    },
    hasForeign: (key) => [...foreign.keys()].some((path) => path.endsWith(`/${key.split('/')[3]}.yaml`)),
    ours,
  };

  async function release(): Promise<void> {
    await opened?.disk.close();
    await opened?.cluster.close();
    opened = undefined;
  }

  function ours(): ReadonlyMap<ObjectKey, JsonObject> {
    const found = new Map<ObjectKey, JsonObject>();
    for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
      const path = join(entry.parentPath, entry.name).slice(directory.length + 1);
      if (!entry.isFile() || path.startsWith('.fleetrelay/') || foreign.has(path)) continue;
      const [object, ...others] = must(readLiveFile(path, readFileSync(at(path))));
      if (object?.stamp === undefined || others.length > 0) throw new Error(`${path} is owned by no fleet`);
      found.set(object.key, object.value);
    }
    return found;
  }
}
