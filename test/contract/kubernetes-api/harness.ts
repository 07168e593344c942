import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import { createKindFollower, type KindFollower } from '../../../src/adapters/kubernetes/api/kind-follower.ts';
import type { ApiResource, FollowOptions, KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { must } from '../../../src/model/values/result.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createRecorder, type Recorder } from './recorder.ts';

export const CONFIG_MAPS: ApiResource = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  namespaced: true,
  verbs: ['list', 'watch'],
  subresources: [],
};

/** The machine's time, made faster: what waits for half a minute takes half a second. */
export function createHurriedClock(factor: number): Clock {
  const clock = createSystemClock();
  return {
    now: clock.now,
    monotonic: () => clock.monotonic() * factor,
    sleep: (milliseconds, signal) => clock.sleep(milliseconds / factor, signal),
    schedule: (milliseconds, callback) => clock.schedule(milliseconds / factor, callback),
  };
}

/** Clients and followers of one test; all of them end with it. */
export interface Harness {
  connect(kubeconfig: string, clock?: Clock): Promise<KubeClient>;
  follow(client: KubeClient, options?: Partial<FollowOptions>, clock?: Clock): Recorder;
  /** A kubeconfig for a server on loopback, of a user with this token. */
  kubeconfigOf(url: string, token?: string): string;
  end(): Promise<void>;
}

export function createHarness(): Harness {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-kube-api-'));
  const followers: KindFollower[] = [];
  const clients: KubeClient[] = [];
  const random = createSystemRandom();
  let files = 0;
  return {
    // What a client waits for half a minute is still longer here than a busy machine takes to answer.
    async connect(kubeconfig, clock = createHurriedClock(15)) {
      const connected = await connectKube(
        { clock, random, log: silentLog },
        { kubeconfig, userAgent: 'fleetrelay-test/1' },
      );
      const { client } = must(connected);
      clients.push(client);
      return client;
    },
    follow(client, options = {}, clock = createHurriedClock(50)) {
      const recorder = createRecorder();
      const deps = { client, clock, random, log: silentLog };
      const follower = createKindFollower(deps, { resource: CONFIG_MAPS, ...options }, recorder);
      followers.push(follower);
      follower.start();
      return recorder;
    },
    kubeconfigOf(url, token = 'secret') {
      files += 1;
      const path = join(folder, `config-${files}`);
      const clusters = [{ name: 'c', cluster: { server: url } }];
      const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'mine' } }];
      const users = [{ name: 'u', user: { token } }];
      writeFileSync(path, JSON.stringify({ clusters, contexts, users, 'current-context': 'x' }));
      return path;
    },
    async end() {
      await Promise.all(followers.map((follower) => follower.stop()));
      await Promise.all(clients.map((client) => client.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
