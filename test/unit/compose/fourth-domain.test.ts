import { expect, it } from 'vitest';
import { createAgentParts } from '../../../src/agent/agent-part.ts';
import type { AgentDomain } from '../../../src/compose/agent/agent-domain.ts';
import { careManifest } from '../../../src/domains/care/manifest/manifest.ts';
import { healthManifest } from '../../../src/domains/health/manifest/manifest.ts';
import { createDecoders } from '../../../src/manifest/kinds/decoders.ts';
import type { LiveObject } from '../../../src/model/agent/agent.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import { objectKey } from '../../../src/model/objects/object-key.ts';
import { stageFile } from '../../../src/runtime/replica/sources.ts';
import { apiFetch } from '../../support/api-fetch.ts';
import {
  bannerCommand,
  banners,
  bannersEngine,
  bannersInAgents,
  bannersManifest,
  bannersServer,
} from '../../support/banners.ts';
import { runCli } from '../../support/cli.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { runServer } from '../../support/running-server.ts';
import { fakeApi } from '../../support/server-api.ts';
import { startedWorld } from '../../support/started-world.ts';

const BANNER = `
apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata: {name: roses}
spec: {from: {names: [west]}, to: {names: [east]}}
`;
const ROSES = objectKey({ group: '', kind: 'ConfigMap', namespace: 'banners', name: 'roses' });

const manifests = [
  { name: 'health', ...healthManifest },
  { name: 'banners', ...bannersManifest },
  { name: 'care', ...careManifest },
];

function declared() {
  const { engine, file } = createEngineWorld([bannersEngine]);
  const decoders = createDecoders(manifests);
  file('east.yaml', 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: east}\n');
  const bytes = new TextEncoder().encode(BANNER);
  stageFile(engine, 'main', 'roses.yaml', decodeFile('roses.yaml', bytes, BANNER, { decoders }).reading);
  engine.commit();
  return engine;
}

it('its documents are read, become objects, and have a status', () => {
  const engine = declared();
  expect(engine.outputs.get('east', ROSES)).toMatchObject({ type: 'object', value: { data: { colour: 'white' } } });
  const ready = engine.statuses.get('ServiceMirror', 'roses')?.conditions.find(({ type }) => type === 'Ready');
  expect(ready).toMatchObject({
    status: 'False',
    message: '0 of 1 applied, 1 unreachable: the agent is not connected',
  });
});

it('a kind that no domain decodes is a defect of the list', () => {
  expect(() => createDecoders(manifests.slice(0, 2))).toThrow('no domain decodes the kind Shoot');
  expect(() => createDecoders([...manifests, { name: 'flags', ...bannersManifest }])).toThrow(
    'banners and flags both have the decoder of the kind ServiceMirror',
  );
});

it('what its agents report is a live object that its view reads', () => {
  const engine = declared();
  const rows = () => engine.domains[0]?.report.shows?.views?.banners?.();
  expect(rows()).toEqual([{ name: 'roses', cluster: 'east', seen: 0 }]);
  let reported: readonly LiveObject[] = [];
  const { ofDirectory } = bannersInAgents({} as Parameters<typeof bannersInAgents>[0]) as Required<AgentDomain>;
  const parts = createAgentParts(ofDirectory({} as never), (_maker, { objects }) => {
    reported = objects;
  });
  void parts.begin(async () => undefined);
  parts.observe({ objects: new Map([[ROSES, {}]]) } as never, NO_SETTINGS);
  for (const object of reported) engine.inputs.live.set('east', object.key, object);
  engine.commit();
  expect(rows()).toEqual([{ name: 'roses', cluster: 'east', seen: 1 }]);
});

it('its command does its act, which sets a record, and its metric counts them', async () => {
  const world = await startedWorld(undefined, { domains: [{ engine: bannersEngine, server: bannersServer }] });
  const { acts, questions } = world.server.api;
  const http = await runServer({ api: { ...fakeApi(), acts, questions } });
  const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"colour": "red"}' };
  const answer = await apiFetch(`${http.url}/api/v1/banners/roses`, request);
  expect([answer.status, await answer.json()]).toEqual([200, { name: 'roses', colour: 'red' }]);
  expect([...world.server.samples()]).toEqual([['fleetrelay_coloured_banners', 1]]);
  const env = { FLEETRELAY_API: http.url, FLEETRELAY_USER: 'ann' };
  const said = await runCli(['banner', 'tulips', 'blue'], { env }, bannerCommand);
  expect(said).toEqual({ code: 0, out: 'the banner tulips is blue\n', err: '' });
  expect([...world.server.samples()]).toEqual([['fleetrelay_coloured_banners', 2]]);
  await http.stop();
  await world.server.stop();
});

it('its table is a row of get, and its command one of the overview', async () => {
  const { commands = [], views } = banners.cli ?? {};
  expect(commands.map(({ name }) => name)).toEqual(['banner']);
  const [list] = (await views?.())?.lists ?? [];
  const api = { view: async () => [{ name: 'roses', cluster: 'east', seen: 1 }] };
  const rows = await list?.ask(api as never, {}, []);
  expect(list?.columns.map(({ title }) => title)).toEqual(['BANNER', 'CLUSTER', 'SEEN']);
  expect(rows?.map(({ name, cells }) => [name, cells])).toEqual([['banner/roses', ['roses', 'east', '1']]]);
});
