import { describe, expect, it } from 'vitest';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { discoverOne, mirrorYaml } from '../../support/mirrors.ts';
import { base, guards, startedWorld, typo } from '../../support/started-world.ts';

/** A line for each reason, or the refusal. */
async function whyNot({ server }: FleetWorld, object: string, cluster = 'east'): Promise<readonly string[]> {
  const answer = await server.api.whyNot({ cluster, object });
  if (!answer.ok) return [`${answer.kind}: ${answer.message}`];
  return answer.value.reasons.map(({ reason, message, at, todo }) => [reason, message, at, todo].join(' | '));
}

const bySelector = (selector: string) => placementYaml('prod', 'prod/**', `selector: ${selector}`);

describe('why an object is not in a cluster:', () => {
  it('it is', async () => {
    const world = await startedWorld();
    expect(await whyNot(world, 'cm/a')).toEqual([
      'Applied | ConfigMap/web/a is in east as it is declared | apps/a.yaml:1:1@r1 | ',
    ]);
    expect(await world.server.api.whyNot({ cluster: 'east', object: 'cm/a' })).toMatchObject({
      value: { isThere: true, object: 'ConfigMap/web/a' },
    });
  });

  it.each([
    ['{matchLabels: {env: test}}', 'it wants label env "test", and the cluster has "prod" | fleet/prod.yaml:9:35@r1'],
    [
      '{matchLabels: {zone: a}}',
      'it wants label zone "a", and the cluster has no such label | fleet/prod.yaml:9:36@r1',
    ],
    [
      '{matchExpressions: [{key: env, operator: In, values: [test, dev]}]}',
      'it wants label env to be one of "dev", "test", and the cluster has "prod" | fleet/prod.yaml:9:34@r1',
    ],
    [
      '{matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}',
      'it wants label env to be none of "prod", and the cluster has "prod" | fleet/prod.yaml:9:34@r1',
    ],
    [
      '{matchExpressions: [{key: env, operator: DoesNotExist}]}',
      'it wants no label env, and the cluster has "prod" | fleet/prod.yaml:9:34@r1',
    ],
  ])('its Placement selects %s', async (selector, why) => {
    const files = { 'fleet/prod.yaml': bySelector(selector), 'prod/x.yaml': configMapYaml('x', '1') };
    const world = await startedWorld({ ...base, ...files });
    expect(await whyNot(world, 'cm/x')).toEqual([
      `NotSelected | Placement prod selects its file, but not cluster east: ${why} | change the label of the KubernetesCluster, or the selector`,
    ]);
  });

  it('its Placement lists other clusters, no Placement selects its file, or its folder is of another cluster', async () => {
    const world = await startedWorld({
      ...base,
      'fleet/prod.yaml': placementYaml('prod', 'prod/**', 'names: [west]'),
      'prod/x.yaml': configMapYaml('x', '1'),
      'other/y.yaml': configMapYaml('y', '1'),
      'clusters/west/z.yaml': configMapYaml('z', '1'),
    });
    expect(await whyNot(world, 'cm/x')).toEqual([
      'NotSelected | Placement prod selects its file, but not cluster east: it lists the clusters west | fleet/prod.yaml:9:12@r1 | add east to the names',
    ]);
    expect(await whyNot(world, 'cm/y')).toEqual([
      'NoPlacement | no Placement selects its file, and the file does not lie under clusters/east | other/y.yaml:1:1@r1 | add the path to a Placement that selects east',
    ]);
    expect(await whyNot(world, 'cm/z')).toEqual([
      'OtherFolder | its file lies under clusters/west, so it goes to cluster west only, and no Placement selects the file | clusters/west/z.yaml:1:1@r1 | move the file under clusters/east, or let a Placement select it',
    ]);
  });

  it('nothing declares it: what is like it', async () => {
    const world = await startedWorld({ ...base, 'apps/s.yaml': configMapYaml('settings', '1', 'shop') });
    expect(await whyNot(world, 'cm/setings')).toEqual([
      'NotDeclared | no file declares it; did you mean ConfigMap/shop/settings? |  | correct the name',
    ]);
    expect(await whyNot(world, 'cm/web/settings')).toEqual([
      'NotDeclared | no file declares it in this namespace; there is ConfigMap/shop/settings |  | correct the namespace',
    ]);
    expect(await whyNot(world, 'deploy/anything')).toEqual([
      'NotDeclared | no file of any source declares it |  | add its manifest to the repository',
    ]);
    expect(await whyNot(world, 'widget/x')).toEqual([
      'UnknownKind | no file declares an object of kind widget, and cluster east lists no such kind |  | correct the kind, or write it as KIND.GROUP',
    ]);
    expect(await whyNot(world, 'cm/a', 'eats')).toEqual([
      'UnknownCluster | no KubernetesCluster eats is declared; did you mean east? |  | declare the cluster, or name another one',
    ]);
    expect(await whyNot(world, 'x')).toEqual([expect.stringMatching(/^invalid: /)]);
  });

  it('no ServiceMirror mirrors it', async () => {
    const world = await startedWorld({
      ...base,
      'clusters/far/cluster.yaml': clusterYaml('far'),
      'mirror.yaml': mirrorYaml('shared', 'names: [east]', 'names: [west]'),
    });
    discoverOne(world, 'east');
    world.agent('east').discovers({
      upserts: [{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'plain', namespace: 'web' }, spec: {} }],
    });
    await world.settle();
    expect(await whyNot(world, 'svc/web/east-plain', 'west')).toEqual([
      'NotMirrored | ServiceMirror shared does not select Service/web/plain of cluster east: it wants label fleetrelay.dev/service-export "true", and the Service has no such label | mirror.yaml:6:3@r1 | change the label of the Service, or the selector',
    ]);
    expect(await whyNot(world, 'svc/web/east-shop', 'far')).toEqual([
      'NotMirrored | ServiceMirror shared reads cluster east, and does not mirror into far | mirror.yaml:9:5@r1 | let a ServiceMirror select both clusters',
    ]);
    expect(await whyNot(world, 'svc/web/east-none', 'west')).toEqual([
      'NotMirrored | ServiceMirror shared mirrors Services of east into west, and east has no Service of that name | mirror.yaml:1:1@r1 | correct the name',
    ]);
    expect(await whyNot(world, 'svc/web/other', 'west')).toEqual([expect.stringMatching(/^NotDeclared/)]);
  });

  it('it is of a kind that the engine reads', async () => {
    const world = await startedWorld();
    expect(await whyNot(world, 'Placement/apps')).toEqual([
      'EngineKind | Placement/apps is of a kind that the engine reads, which lies in no cluster |  | `fleetrelay explain Placement/apps` shows what it does',
    ]);
    expect(await whyNot(world, 'Placement/app')).toEqual([
      'EngineKind | Placement/app is of a kind that the engine reads, which lies in no cluster, and no source declares it; did you mean Placement/apps? |  | declare it, or correct the name',
    ]);
    expect(await whyNot(world, 'Dataplane/web')).toEqual([
      expect.stringMatching(/^EngineKind \| .*no source declares it/),
    ]);
  });

  it('a kustomization claims the file that may declare it, and a rule places the file', async () => {
    const other = Object.fromEntries([1, 2, 3, 4].map((at) => [`a${at}/values.yaml`, 'replicas: 1\n']));
    const world = await createFleetWorld();
    world.source.claim(['apps/x.yaml'], 'apps/kustomization.yaml', false);
    world.source.push({ ...base, ...other, 'apps/x.yaml': configMapYaml('x', '1') });
    world.agent('east').connect();
    await world.settle();
    expect(await whyNot(world, 'cm/web/x')).toEqual([
      expect.stringMatching(
        /^Unreadable \| this file may declare it: apps\/kustomization\.yaml claims .* \| apps\/x\.yaml@r1/,
      ),
      expect.stringContaining('no file declares it'),
    ]);
  });

  it('a file that may declare it cannot be read', async () => {
    const world = await startedWorld({ ...base, 'apps/new.yaml': typo });
    expect((await whyNot(world, 'cm/new'))[0]).toBe(
      'Unreadable | this file cannot be read now, and may declare it | apps/new.yaml@r1 | `fleetrelay get diagnostics` says what is wrong with the file',
    );
  });

  it('the rights of its source refuse it', async () => {
    const world = await createFleetWorld({ sources: ['main', 'team'], allow: { team: { kinds: ['Service'] } } });
    world.source.push(base);
    world.sourceNamed('team').push({ 'clusters/east/t.yaml': configMapYaml('t', '1') });
    world.agent('east').connect();
    await world.settle();
    expect(await whyNot(world, 'cm/t')).toEqual([
      expect.stringMatching(
        /^NotAllowed \| source team may not .* \| team:clusters\/east\/t\.yaml:2:7@r1 \| allow it in the RelayConfig/,
      ),
    ]);
  });

  it('it is declared twice, and this declaration does not count', async () => {
    const world = await startedWorld({ ...base, 'apps/z.yaml': configMapYaml('a', 'other') });
    expect((await whyNot(world, 'cm/a')).at(-1)).toBe(
      'DeclaredTwice | ConfigMap/web/a is declared here too, and apps/a.yaml counts | apps/z.yaml:1:1@r1 | delete one of the two declarations',
    );
  });

  it('its agent has rejected it, has not connected, is away, or the cluster is suspended', async () => {
    const world = await startedWorld({ ...base, 'clusters/far/cluster.yaml': clusterYaml('far') });
    world.agent('east').failing.add('ConfigMap/web/a');
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(await whyNot(world, 'cm/a')).toEqual([
      'Rejected | the agent could not apply it: the cluster said no | apps/a.yaml:1:1@r2 | correct the manifest, or what the message names',
    ]);
    expect(await whyNot(world, 'cm/a', 'far')).toEqual([
      'NeverConnected | no agent of far has connected yet | apps/a.yaml:1:1@r2 | fleetrelay cluster token far',
    ]);
    world.agent('west').disconnect();
    world.source.push({ 'apps/d.yaml': configMapYaml('d', '1') });
    await world.settle();
    expect((await whyNot(world, 'cm/d', 'west'))[0]).toMatch(
      /^NotConnected \| the agent of west is not connected since \d{4}-/,
    );
    await world.server.api.suspendCluster('west', 'anna', 'a move');
    expect((await whyNot(world, 'cm/d', 'west'))[0]).toMatch(
      /^Suspended \| anna has suspended the cluster at .*: a move \| apps\/d\.yaml:1:1@r3 \| fleetrelay cluster resume west$/,
    );
  });

  it('its removal is not sent to a suspended cluster', async () => {
    const world = await startedWorld();
    await world.server.api.suspendCluster('east', 'anna', 'a move');
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(await whyNot(world, 'cm/a')).toEqual([
      expect.stringMatching(
        /^Suspended \| anna has suspended the cluster at .*: a move \| {2}\| fleetrelay cluster resume east$/,
      ),
    ]);
    await world.server.api.resumeCluster('east', 'anna');
    world.agent('east').pause();
    await world.settle();
    expect(await whyNot(world, 'cm/a')).toEqual(['Removing | it is being removed |  | ']);
  });

  it('it was sent, and its agent has gone before it answered', async () => {
    const world = await startedWorld();
    world.agent('east').pause();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    const sent = 'InFlight | it was sent, and the agent has not accepted it yet | apps/a.yaml:1:1@r2 | ';
    expect(await whyNot(world, 'cm/a')).toEqual([sent]);
    world.agent('east').disconnect();
    await world.settle();
    expect(await whyNot(world, 'cm/a')).toEqual([
      sent,
      expect.stringMatching(/^NotConnected \| the agent of east is not connected since \d{4}-/),
    ]);
  });

  it('the server waits for its sources, or for a person that lets a revision in', async () => {
    const world = await createFleetWorld({ sources: ['main', 'late'] });
    world.source.push(base);
    await world.settle();
    expect((await whyNot(world, 'cm/a'))[0]).toMatch(
      /^Starting \| the server has not read every source since its start \| main:apps\/a/,
    );
    expect((await whyNot(world, 'cm/zzzz'))[0]).toMatch(/^SourceNotRead \| source late has not been read yet/);
    world.sourceNamed('late').condition({
      state: 'refused',
      reason: 'Rewritten',
      message: 'the history was rewritten',
      refusedRevision: 'f00',
    });
    expect((await whyNot(world, 'cm/zzzz')).at(-1)).toBe(
      'RevisionWaits | source late is refused, so a newer revision may not count yet: the history was rewritten |  | fleetrelay source accept late f00',
    );
  });

  it('it lies in the namespace of the agent', async () => {
    const world = await createFleetWorld();
    world.source.push({ ...base, 'apps/own.yaml': configMapYaml('own', '1', 'agents') });
    world.agent('east').connect({ ownNamespace: 'agents' });
    await world.settle();
    expect(await whyNot(world, 'cm/own')).toEqual([
      expect.stringMatching(/^OwnNamespace \| it is held and not sent: .*agents.* \| apps\/own\.yaml:1:1@r1 \| $/),
    ]);
  });

  it('a guard holds its removal', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': guards({ maxRemovalsPerCluster: 1 }) });
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.settle();
    expect(await whyNot(world, 'cm/a')).toEqual([
      expect.stringMatching(
        /^TooManyRemovals \| it stays as it is: 2 removals in .* \| {2}\| `fleetrelay approve --list` shows what can be released$/,
      ),
    ]);
  });
});
