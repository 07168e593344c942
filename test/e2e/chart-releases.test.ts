import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publicManifests } from '../../scripts/local/public-manifests.ts';
import { AGENT_RELEASES, CRD_RELEASES, releaseOf, SERVER_RELEASES } from '../contract/deploy/releases.ts';
import {
  CHARTS,
  type Manifest,
  PROJECT,
  type Release,
  releaseArguments,
  runHelm,
} from '../contract/deploy/rendering.ts';
import { until } from '../support/fleet-processes.ts';
import { type ApiRequests, createApiRequests } from '../support/kubernetes/api-request.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { untilListed } from '../support/kubernetes/definitions.ts';
import { isLong } from '../support/long.ts';
import { noProgram } from '../support/programs.ts';

/** The charts on a real API server by a real Helm: installed, upgraded, rolled back and removed. There are no Nodes, so no pod runs. */
describe.skipIf(noProgram('kube-apiserver', 'helm'))('releases of the charts', () => {
  let plane: ControlPlane;
  let api: ApiRequests;
  beforeAll(async () => {
    plane = await startControlPlane();
    api = createApiRequests(plane);
    for (const name of ['fleetrelay-server', 'fleetrelay', 'web', 'shop', 'shoot--web--blue'])
      await plane.kubectl(['create', 'namespace', name]);
  });
  afterAll(async () => {
    api?.close();
    await plane?.stop();
  });

  const helm = (...args: readonly string[]): Promise<string> => runHelm(args, { KUBECONFIG: plane.kubeconfig() });
  const run = (verb: 'install' | 'upgrade', chart: string, release: Release, ...more: readonly string[]) =>
    helm(verb, ...releaseArguments(mkdtempSync(join(plane.folder, 'values-')), chart, release), ...more);
  const live = async (path: string) => {
    const { status, body } = await api.send('GET', path);
    return status === 200 ? body : undefined;
  };

  describe('the definitions', () => {
    const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const PLACEMENTS = '/apis/fleetrelay.dev/v1alpha1/namespaces/web/placements';
    const least = releaseOf(CRD_RELEASES, 'least');

    test('an upgrade brings newer ones, and those stay, with their objects, when the release goes', async () => {
      const older = mkdtempSync(join(plane.folder, 'chart-'));
      cpSync(join(PROJECT, CHARTS, 'fleetrelay-crds'), older, { recursive: true });
      const file = join(older, 'files', 'placements.fleetrelay.dev.yaml');
      const text = readFileSync(file, 'utf8');
      writeFileSync(
        file,
        text
          .replace(/^ {2}names:/m, '  names:\n    # An older release had no short name.')
          .replace(/ {4}shortNames:\n {6}- plc\n/, ''),
      );
      const shortNames = async () => (await live(`${DEFINITIONS}/placements.fleetrelay.dev`))?.spec.names.shortNames;
      await helm('install', 'fleetrelay-crds', older, '--wait', '--timeout', '60s');
      expect(await shortNames()).toBeUndefined();
      await run('upgrade', 'fleetrelay-crds', least, '--wait', '--timeout', '60s');
      expect(await shortNames()).toEqual(['plc']);

      const placement = { apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'Placement', metadata: { name: 'web' } };
      const spec = { clusters: { names: ['east'] }, paths: ['web/**'] };
      expect((await api.send('POST', PLACEMENTS, { ...placement, spec })).status).toBe(201);
      await helm('uninstall', 'fleetrelay-crds');
      expect((await live(`${PLACEMENTS}/web`))?.metadata.name).toBe('web');
      await run('install', 'fleetrelay-crds', least);
      expect((await live(`${PLACEMENTS}/web`))?.metadata.name).toBe('web');
    });

    test('those that kubectl has applied are taken over by the command of the README', async () => {
      await helm('uninstall', 'fleetrelay-crds');
      await untilListed(api);
      await plane.kubectl(['delete', 'crds', '-l', 'app.kubernetes.io/part-of=fleetrelay']);
      await plane.kubectl(['apply', '--server-side', '-f', join(PROJECT, 'deploy', 'crds')]);
      await expect(run('install', 'fleetrelay-crds', least)).rejects.toThrow(/cannot be imported/);
      await run('install', 'fleetrelay-crds', least, '--take-ownership', '--force-conflicts');
      const { metadata } = await live(`${DEFINITIONS}/placements.fleetrelay.dev`);
      expect(metadata.labels['app.kubernetes.io/managed-by']).toBe('Helm');
    });
  });

  describe('the server', () => {
    const name = 'fleetrelay';
    const path = '/apis/apps/v1/namespaces/fleetrelay-server/statefulsets/fleetrelay-server';
    const ingress = '/apis/networking.k8s.io/v1/namespaces/fleetrelay-server/ingresses/fleetrelay-server';
    const least = releaseOf(SERVER_RELEASES, 'least');

    test('is upgraded from each set of values to the next, and back', async () => {
      await run('install', 'fleetrelay', least);
      const { uid } = (await live(path)).metadata;
      for (const set of ['most', 'replicas-redis', 'replicas-lease']) {
        const release = { ...releaseOf(SERVER_RELEASES, set), name };
        // The size of a volume that is there is the cluster's to change.
        const values = { ...release.values, persistence: {} };
        await run('upgrade', 'fleetrelay', { ...release, values });
        const opened = await live(`${ingress}-hooks`);
        expect(opened?.spec.rules[0].host, set).toBe(set === 'most' ? 'hooks.example.com' : undefined);
      }
      expect((await live(path)).spec.replicas).toBe(2);
      await helm('rollback', name, '1', '--namespace', 'fleetrelay-server');
      const back = await live(path);
      expect([back.metadata.uid, back.spec.replicas]).toEqual([uid, 1]);
    });

    test('an upgrade that changes nothing rolls no pod', async () => {
      const { generation } = (await live(path)).metadata;
      await run('upgrade', 'fleetrelay', { ...least, name });
      expect((await live(path)).metadata.generation).toBe(generation);
      await run('upgrade', 'fleetrelay', { ...least, name, values: { ...least.values, logLevel: 'debug' } });
      expect((await live(path)).metadata.generation).toBe(generation + 1);
    });
  });

  test.skipIf(!isLong)('routes of the Gateway API are what its own definitions take', async ({ skip }) => {
    const found = await publicManifests('gateway-api');
    if (!found.ok) return skip(found.problem);
    const definition = found.files.get('config/crd/standard/gateway.networking.k8s.io_httproutes.yaml');
    await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: Buffer.from(definition ?? []).toString() });
    const path = '/apis/gateway.networking.k8s.io/v1/namespaces/fleetrelay-server/httproutes';
    await until('HTTPRoutes are served', () => live(path));
    const release = { ...releaseOf(SERVER_RELEASES, 'gateway'), name: 'routed' };
    await run('install', 'fleetrelay', release);
    const hosts = (body: { readonly items: readonly Manifest[] }) => body.items.map(({ spec }) => spec.hostnames);
    expect(hosts(await live(path))).toEqual([undefined, ['hooks.example.com']]);
    await helm('uninstall', 'routed', '--namespace', release.namespace);
    expect(hosts(await live(path))).toEqual([]);
  });

  test('the agent is upgraded from each set of values to the next, and keeps its Deployment', async () => {
    const path = '/apis/apps/v1/namespaces/fleetrelay/deployments/fleetrelay-agent';
    const name = 'fleetrelay-agent';
    await run('install', 'fleetrelay-agent', { ...releaseOf(AGENT_RELEASES, 'least'), name });
    const { uid } = (await live(path)).metadata;
    const volumes = {
      relay: { serverAddress: 'a:1', tokenSecret: { name: 'a' }, rootTlsSecret: { name: 'ca' } },
      dataVolume: { emptyDir: null, persistentVolumeClaim: { claimName: 'agent' } },
    };
    const least = releaseOf(AGENT_RELEASES, 'least');
    const releases = ['most', 'one-replica', 'care'].map((set) => releaseOf(AGENT_RELEASES, set));
    for (const { values } of [...releases, { values: { ...least.values, ...volumes } }, least]) {
      await run('upgrade', 'fleetrelay-agent', { ...least, name, values });
      const { metadata, spec } = await live(path);
      expect(metadata.uid).toBe(uid);
      const { replicaCount = 2, leaderElection } = values as Readonly<Record<string, unknown>>;
      expect([spec.replicas, spec.strategy.type]).toEqual([
        replicaCount,
        leaderElection === undefined ? 'RollingUpdate' : 'Recreate',
      ]);
    }
  });
});
