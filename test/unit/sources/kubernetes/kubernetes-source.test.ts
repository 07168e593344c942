import { describe, expect, it } from 'vitest';
import { parseSourceName } from '../../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../../src/model/objects/object-key.ts';
import { must } from '../../../../src/model/values/result.ts';
import { createKubernetesSource } from '../../../../src/sources/kubernetes/kubernetes-source.ts';
import { resourceOfPath, resourcePath } from '../../../../src/sources/kubernetes/resource-path.ts';
import { decodeFile } from '../../../support/decode-file.ts';
import {
  clusterResource,
  createFakeCustomResources,
  type FakeCustomResources,
  placementResource,
} from '../../../support/fake-custom-resources.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { createSourceRecorder } from '../../../support/source-recorder.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const east = 'admin.gloo.solo.io/KubernetesCluster/fleet/east';
const eastPath = 'KubernetesCluster.admin.gloo.solo.io/fleet/east.yaml';
const appsPath = 'Placement.fleetrelay.dev/fleet/apps.yaml';

function follow(fake: FakeCustomResources, admitted?: string, remembered: readonly string[] = []) {
  const clock = createVirtualClock();
  const source = createKubernetesSource(
    { resources: fake.resources, decode: decodeFile, clock, log: silentLog },
    { name: must(parseSourceName('custom')), address: 'https://127.0.0.1:6443' },
  );
  const recorder = createSourceRecorder();
  source.start(recorder, admitted, remembered);
  return { source, recorder, clock, later: () => clock.advance(3_000) };
}

function threeResources(): FakeCustomResources {
  const fake = createFakeCustomResources();
  fake.apply(clusterResource('east', { env: 'prod' }));
  fake.apply(clusterResource('west'));
  fake.apply(placementResource('apps', ['apps/**']));
  return fake;
}

describe('custom resources as a source', () => {
  it('are one file each, with lines that can be found', async () => {
    const fake = threeResources();
    const { source, recorder, later } = follow(fake);
    await later();
    expect([...recorder.files]).toEqual([
      [eastPath, 'complete'],
      [eastPath.replace('east', 'west'), 'complete'],
      [appsPath, 'complete'],
    ]);
    expect(recorder.lastCondition()).toMatchObject({ state: 'synced', reason: 'Synced' });
    const change = recorder.observations[0]?.changes.find(({ path }) => path === appsPath);
    const bytes = await source.read(appsPath, change?.file?.blob ?? '');
    expect(new TextDecoder().decode(bytes)).toBe(
      'apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata:\n  name: apps\n  namespace: fleet\nspec:\n  clusters:\n    selector: {}\n  paths:\n    - apps/**\n',
    );
    expect(await source.read(appsPath, 'another')).toBeUndefined();
    expect(source.entered().get(eastPath)).toMatchObject({ key: east, generation: 1 });
  });

  it('have paths from which their keys can be read', () => {
    for (const key of [east, 'fleetrelay.dev/Placement//apps', 'kuma.io/Dataplane/shop/web.yaml.1']) {
      expect(resourceOfPath(resourcePath(key as ObjectKey))).toBe(key);
    }
    for (const path of ['Placement.fleetrelay.dev.yaml', 'a/b/c.yaml', 'A.b/../c.yaml', 'A.b/n/x/y.yaml']) {
      expect(resourceOfPath(path), path).toBeUndefined();
    }
  });

  it('make few revisions of a burst, and none of a status', async () => {
    const fake = createFakeCustomResources();
    fake.apply(clusterResource('east'));
    const { recorder, clock, later } = follow(fake);
    await later();
    for (let index = 0; index < 100; index += 1) {
      fake.apply(placementResource(`p${index}`, ['apps/**']));
      await clock.advance(10);
    }
    await later();
    expect(recorder.files.size).toBe(101);
    expect(recorder.observations.length).toBe(2);
    const resource = fake.get(east);
    if (resource === undefined) throw new Error('it is gone');
    await fake.status.write({ ...resource, apiVersion: '' }, { observedGeneration: 1 });
    await later();
    expect(recorder.observations.length).toBe(2);
  });

  it('are looked at only where they have changed', async () => {
    const fake = createFakeCustomResources();
    for (let index = 0; index < 100; index += 1) fake.apply(placementResource(`p${index}`, ['apps/**']));
    const asked: string[] = [];
    const { objects } = fake.resources.state();
    const { state } = fake.resources;
    /** Tells which resources are asked for; all others cannot be listed once the first look is over. */
    const watched = new Proxy(objects, {
      get: (map, name) => {
        if (name === 'get') return (key: ObjectKey) => asked.push(key) && map.get(key);
        if (asked.length > 0 && name !== 'size') throw new Error(`all resources are asked for: ${String(name)}`);
        const member: unknown = Reflect.get(map, name);
        return typeof member === 'function' ? member.bind(map) : member;
      },
    });
    fake.resources.state = () => ({ ...state(), objects: watched });
    const { source, recorder, later } = follow(fake);
    const looked: ObjectKey[][] = [];
    source.watch((keys) => looked.push([...keys]));
    await later();
    expect([asked.length, looked[0]?.length, recorder.files.size]).toEqual([100, 100, 100]);
    const seventh = 'fleetrelay.dev/Placement/fleet/p7';
    fake.putStatus(seventh, { observedGeneration: 1 });
    await later();
    fake.apply(placementResource('p7', ['web/**']));
    await later();
    expect(asked.slice(100)).toEqual([seventh, seventh]);
    expect(looked.slice(1)).toEqual([[seventh], [seventh]]);
    expect(recorder.observations.map(({ changes }) => changes.length)).toEqual([100, 1]);
  });

  it('enter within a bounded time while changes go on and on', async () => {
    const fake = createFakeCustomResources();
    const { recorder, clock } = follow(fake);
    for (let index = 0; index < 25; index += 1) {
      fake.apply(placementResource('p', [`apps/${index}/**`]));
      await clock.advance(100);
    }
    expect(recorder.observations.length).toBe(1);
  });

  it('wait until every kind has been listed or could not be', async () => {
    const fake = threeResources();
    fake.kind('fleetrelay.dev/FleetPolicy', 'pending');
    const { recorder, later } = follow(fake);
    await later();
    expect(recorder.observations).toEqual([]);
    expect(recorder.conditions).toEqual([]);
    fake.kind('fleetrelay.dev/FleetPolicy', 'complete');
    await later();
    expect(recorder.observations[0]?.state).toBe('complete');
  });

  it('are partial while a kind is unknown, report what to do, and are complete again afterwards', async () => {
    const fake = threeResources();
    fake.kind('fleetrelay.dev/FleetPolicy', 'unknown', 'is not installed: kubectl apply -f deploy/crds');
    const { recorder, later } = follow(fake);
    await later();
    expect(recorder.observations[0]?.state).toBe('partial');
    expect(recorder.files.get('FleetPolicy.fleetrelay.dev.yaml')).toBe('unreadable');
    expect(recorder.lastCondition()).toMatchObject({ state: 'failing', reason: 'KindsUnknown' });
    expect(recorder.lastCondition()?.message).toContain('FleetPolicy.fleetrelay.dev: is not installed: kubectl apply');
    fake.kind('fleetrelay.dev/FleetPolicy', 'complete');
    await later();
    expect(recorder.observations[1]).toMatchObject({ state: 'complete', revision: recorder.observations[0]?.revision });
    expect(recorder.lastCondition()).toMatchObject({ state: 'synced' });
  });

  it('enter no revision while no kind can be listed, and keep the one that has entered', async () => {
    const fake = threeResources();
    const kinds = fake.resources.state().kinds.map(({ kind }) => kind);
    for (const kind of kinds) fake.kind(kind, 'unknown', 'the API server does not answer');
    const { recorder, later } = follow(fake);
    await later();
    expect(recorder.observations).toEqual([]);
    expect(recorder.lastCondition()).toMatchObject({ state: 'failing', reason: 'CustomResourcesUnknown' });
    expect(recorder.lastCondition()?.message.split('the API server does not answer')).toHaveLength(2);
    for (const kind of kinds) fake.kind(kind, 'complete');
    await later();
    for (const kind of kinds) fake.kind(kind, 'unknown', 'the API server does not answer');
    await later();
    expect(recorder.observations.map(({ state }) => state)).toEqual(['complete']);
    expect(recorder.lastCondition()).toMatchObject({ state: 'failing' });
  });

  it('have lines in the diagnostics of an invalid one, which makes the source partial', async () => {
    const fake = threeResources();
    fake.apply({ ...placementResource('bad', ['../secrets/**']) });
    const { recorder, later } = follow(fake);
    await later();
    expect(recorder.observations[0]).toMatchObject({
      state: 'partial',
      diagnostics: [{ severity: 'error', at: { path: 'Placement.fleetrelay.dev/fleet/bad.yaml', line: 10 } }],
    });
  });

  it('are removed one by one when a person deletes them', async () => {
    const fake = threeResources();
    const { recorder, later } = follow(fake);
    await later();
    fake.remove('fleetrelay.dev/Placement/fleet/apps');
    await later();
    expect(recorder.files.has(appsPath)).toBe(false);
    expect(recorder.lastCondition()?.state).toBe('synced');
  });

  it('wait for a person when all of a kind are deleted at once', async () => {
    const fake = threeResources();
    const { source, recorder, later } = follow(fake);
    await later();
    fake.remove(east);
    fake.remove(east.replace('east', 'west'));
    await later();
    expect(recorder.files.has(eastPath)).toBe(true);
    const refused = recorder.lastCondition();
    expect(refused).toMatchObject({ state: 'refused', reason: 'KindDeleted' });
    expect(refused?.message).toContain('2 of 2 custom resources of KubernetesCluster.admin.gloo.solo.io are gone');
    expect(refused?.message).toContain(`fleetrelay source accept custom ${refused?.refusedRevision}`);
    expect(source.entered().has(eastPath)).toBe(true);
    expect(source.accept('another')).toBe(false);
    expect(source.accept(refused?.refusedRevision ?? '')).toBe(true);
    expect(recorder.files.has(eastPath)).toBe(false);
    expect(source.entered().has(eastPath)).toBe(false);
    expect(recorder.lastCondition()).toMatchObject({ state: 'synced' });
  });

  it.each([
    ['a kind', ['apps', 'web', 'info'], []],
    ['all', ['apps', 'web', 'info'], ['east', 'west']],
  ])(
    'wait until all are back after %s went at once: a part of them does not let the rest go',
    async (_, names, clusters) => {
      const fake = threeResources();
      for (const name of names) fake.apply(placementResource(name, [`${name}/**`]));
      const { source, recorder, later } = follow(fake);
      await later();
      for (const name of names) fake.remove(`fleetrelay.dev/Placement/fleet/${name}`);
      for (const name of clusters) fake.remove(`admin.gloo.solo.io/KubernetesCluster/fleet/${name}`);
      await later();
      expect(recorder.lastCondition()?.state).toBe('refused');
      for (const name of clusters) fake.apply(clusterResource(name));
      for (const name of names.slice(0, 2)) {
        fake.apply(placementResource(name, [`${name}/**`]));
        await later();
        expect(recorder.lastCondition()?.state).toBe('refused');
      }
      expect(recorder.files.size).toBe(5);
      fake.apply(placementResource('info', ['info/**']));
      await later();
      expect(recorder.lastCondition()?.state).toBe('synced');
      fake.remove('fleetrelay.dev/Placement/fleet/info');
      await later();
      expect([recorder.lastCondition()?.state, recorder.files.size]).toEqual(['synced', 4]);
      await source.stop();
    },
  );

  it('wait for a person when a kind has shrunk by more than half while no process followed it', async () => {
    const pathOf = (name: string): string => appsPath.replace('apps', name);
    const remembered = [eastPath, ...['apps', 'web', 'info'].map(pathOf)];
    const { recorder, later, source } = follow(threeResources(), 'an earlier revision', remembered);
    await later();
    expect(recorder.lastCondition()).toMatchObject({ state: 'refused', reason: 'KindDeleted' });
    expect(source.accept(recorder.lastCondition()?.refusedRevision ?? '')).toBe(true);
    // As many as there were, under other names: names of pods change.
    const replaced = follow(threeResources(), 'an earlier revision', [eastPath, pathOf('web'), appsPath]);
    await replaced.later();
    expect(replaced.recorder.lastCondition()?.state).toBe('synced');
  });

  it('remove the rest when a person accepts those that are back', async () => {
    const fake = threeResources();
    for (const name of ['web', 'info']) fake.apply(placementResource(name, [`${name}/**`]));
    const { source, recorder, later } = follow(fake);
    await later();
    for (const name of ['apps', 'web', 'info']) fake.remove(`fleetrelay.dev/Placement/fleet/${name}`);
    await later();
    fake.apply(placementResource('apps', ['apps/**']));
    await later();
    expect(source.accept(recorder.lastCondition()?.refusedRevision ?? '')).toBe(true);
    expect([recorder.lastCondition()?.state, recorder.files.size]).toEqual(['synced', 3]);
  });

  it('wait for a person when all are gone, also after a restart', async () => {
    const fake = createFakeCustomResources();
    fake.apply(clusterResource('east'));
    const before = follow(fake);
    await before.later();
    fake.remove(east);
    await before.later();
    expect(before.recorder.lastCondition()).toMatchObject({ state: 'refused', reason: 'AllDeleted' });
    const admitted = before.recorder.observations[0]?.revision;
    const after = follow(fake, admitted);
    await after.later();
    expect(after.recorder.observations).toEqual([]);
    expect(after.recorder.lastCondition()).toMatchObject({ state: 'refused', reason: 'AllDeleted' });
    fake.apply(clusterResource('east'));
    await after.later();
    expect(after.recorder.observations[0]?.revision).toBe(admitted);
    expect(after.recorder.lastCondition()).toMatchObject({ state: 'synced' });
  });

  it('wait for a person when a kind is listed again with fewer resources', async () => {
    const fake = threeResources();
    fake.apply(placementResource('more', ['more/**']));
    fake.apply(placementResource('most', ['most/**']));
    const { recorder, later } = follow(fake);
    await later();
    fake.kind('fleetrelay.dev/Placement', 'unknown', 'its definition is being deleted');
    await later();
    expect(recorder.files.get(appsPath)).toBe('complete');
    fake.remove('fleetrelay.dev/Placement/fleet/more');
    fake.remove('fleetrelay.dev/Placement/fleet/most');
    fake.kind('fleetrelay.dev/Placement', 'complete');
    await later();
    expect(recorder.lastCondition()).toMatchObject({ state: 'refused', reason: 'KindDeleted' });
    // As a backup is restored, and before a person had to accept anything.
    fake.apply(placementResource('more', ['more/**']));
    await later();
    expect(recorder.lastCondition()).toMatchObject({ state: 'refused', reason: 'KindDeleted' });
    fake.apply(placementResource('most', ['most/**']));
    await later();
    expect(recorder.lastCondition()).toMatchObject({ state: 'synced' });
    expect(recorder.files.get('Placement.fleetrelay.dev/fleet/most.yaml')).toBe('complete');
  });

  it('are remembered over a restart in which their kinds are listed one by one, and empty', async () => {
    const fake = createFakeCustomResources();
    const kinds = fake.resources.state().kinds.map(({ kind }) => kind);
    for (const kind of kinds) fake.kind(kind, 'unknown', 'it is not installed');
    const { source, recorder, later } = follow(fake, 'an earlier revision', [eastPath, appsPath]);
    await later();
    for (const kind of kinds) {
      fake.kind(kind, 'complete');
      await later();
    }
    expect(recorder.observations.every(({ state }) => state === 'partial')).toBe(true);
    const { state, refusedRevision = '' } = recorder.lastCondition() ?? {};
    expect(state).toBe('refused');
    expect(source.accept(refusedRevision)).toBe(true);
    expect(recorder.observations.at(-1)?.state).toBe('complete');
  });

  it('can be none from the start', async () => {
    const { recorder, later } = follow(createFakeCustomResources());
    await later();
    expect(recorder.observations[0]).toMatchObject({ state: 'complete', changes: [] });
    expect(recorder.lastCondition()).toMatchObject({ state: 'synced' });
  });

  it('end with their source', async () => {
    const fake = threeResources();
    const { source, recorder, later, clock } = follow(fake);
    await source.stop();
    await later();
    expect(fake.stopped).toBe(true);
    expect(recorder.observations).toEqual([]);
    expect(clock.waiting()).toBe(0);
  });
});
