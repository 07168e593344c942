import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createLiveFiles } from '../../adapters/directory/live-files.ts';
import { createDiscovery } from '../../agent/discovery/discovery.ts';
import type { KindState, LiveObject } from '../../model/agent.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import { compareText } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveState } from '../../ports/cluster-api.ts';

/** A cluster as files in a folder say it. */
export interface RecordedCluster {
  readonly name: string;
  /** Paths in it are relative to the folder. */
  readonly live: LiveState;
}

/** What the agent of a cluster reports. */
interface InputSnapshot {
  readonly objects: readonly LiveObject[];
  readonly kinds: readonly KindState[];
}

/**
 * Reads the directory cluster in each folder of `folder`; hidden folders are passed over. Nothing is written. Rejects with
 * a text for a person if the folder cannot be listed.
 */
export async function readRecordedClusters(
  folder: string,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): Promise<readonly RecordedCluster[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw new Error(`the clusters in ${folder} cannot be read: ${errorText(error)}`);
  });
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name);
  return Promise.all(
    names.sort(compareText).map(async (name) => {
      const files = createLiveFiles(join(folder, name), clock);
      await files.walk();
      return { name, live: files.state(false) };
    }),
  );
}

/** What an agent with these settings reports of the cluster. */
export function discover({ live }: RecordedCluster, settings: AgentSettings): InputSnapshot {
  const published: InputSnapshot[] = [];
  const discovery = createDiscovery(
    { publishInput: ({ objects, kinds }) => void published.push({ objects: [...objects.values()], kinds }) },
    () => settings,
  );
  discovery.take(live, new Map());
  const [snapshot] = published;
  if (snapshot === undefined) throw new Error('the first state of a cluster was not published');
  // Values are worked out at each reading.
  return { ...snapshot, objects: snapshot.objects.map(({ key, value, digest }) => ({ key, value, digest })) };
}
