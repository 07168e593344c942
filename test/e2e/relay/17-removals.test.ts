import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HeldRemovalsView } from '../../../src/api/server-api.ts';
import { until } from '../../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, policyYaml } from '../../support/manifests.ts';
import { noProgram } from '../../support/programs.ts';
import { type RelayFleet, type Replica, startRelayFleet } from '../../support/relay-fleet.ts';
import { everywhere, sceneContents, sceneFiles, setScene } from '../../support/relay-scene.ts';
import { directoryClusters } from '../../support/test-clusters.ts';

const names = ['east', 'west'];
const bothGone = { 'apps/a.yaml': null, 'apps/b.yaml': null };
const bothBack = { 'apps/a.yaml': configMapYaml('a', 'one'), 'apps/b.yaml': configMapYaml('b', 'one') };
const typo = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n';

let fleet: RelayFleet;
afterEach(() => fleet?.stop());

const leader = (): Promise<Replica> => until('one leads', () => [fleet.a, fleet.b].find((one) => one.leads()));

/** Sets of held removals that name exactly these objects, in some order. */
async function held(...objects: readonly string[]): Promise<readonly HeldRemovalsView[]> {
  return until(`${objects} are held`, async () => {
    const { heldRemovals } = await (await leader()).status();
    const found = heldRemovals.flatMap(({ removals }) => removals.map(({ cluster, object }) => `${cluster} ${object}`));
    return found.sort().join() === [...objects].sort().join() && heldRemovals;
  });
}

function approvalYaml(name: string, digest: string): string {
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata:\n  name: ${name}\nspec:\n  digest: ${digest}\n`;
}

describe.skipIf(noProgram('redis-server'))('guards are loosened and objects removed in one push', () => {
  const of = (...objects: readonly string[]): readonly string[] =>
    names.flatMap((cluster) => objects.map((name) => `${cluster} ConfigMap/web/${name}`));

  beforeEach(async () => {
    fleet = await startRelayFleet({
      clusters: directoryClusters.open(),
      names,
      files: sceneFiles(names, policyYaml(1)),
    });
    await setScene(fleet, names);
  });

  /** That push, and an innocent one after it. */
  const removeAtOnce = async (): Promise<readonly HeldRemovalsView[]> => {
    const before = await fleet.versions();
    fleet.push({ ...bothGone, 'fleet/policy.yaml': policyYaml(100) });
    await held(...of('a', 'b'));
    fleet.push({ 'apps/innocent.yaml': configMapYaml('innocent', 'new') });
    await fleet.holds(everywhere(sceneContents(names), { 'ConfigMap/web/innocent': 'new' }));
    for (const { sent } of [fleet.a, fleet.b]) expect(sent().join()).not.toMatch(/[1-9]\d* removed/);
    for (const name of names)
      expect(await fleet.versions()).toHaveProperty(name, expect.objectContaining(before[name]));
    return held(...of('a', 'b'));
  };
  const gone = everywhere(sceneContents(names), {
    'ConfigMap/web/a': null,
    'ConfigMap/web/b': null,
    'ConfigMap/web/innocent': 'new',
  });

  it('they stay held after an innocent commit, until a person approves what is held', async () => {
    const sets = await removeAtOnce();
    await expect((await leader()).cli('approve', '0'.repeat(64))).rejects.toThrow(/no held removals|digest/);
    for (const { digest } of sets) await (await leader()).cli('approve', digest);
    await fleet.holds(gone);
    await held();
  });

  it('or a later commit does by a file, once; also at a leader that has taken over', async () => {
    const [first] = await removeAtOnce();
    const killed = await leader();
    const other = killed === fleet.a ? fleet.b : fleet.a;
    await killed.kill('SIGKILL');
    await until('the other one leads', () => other.leads());
    await killed.start();
    const sets = await held(...of('a', 'b'));
    expect(sets.map(({ digest }) => digest)).toContain(first?.digest);
    const files = Object.fromEntries(
      sets.map(({ digest }, at) => [`fleet/approval-${at}.yaml`, approvalYaml(`approval-${at}`, digest)]),
    );
    fleet.push(files);
    await fleet.holds(gone);
    fleet.push({ ...bothBack, 'fleet/policy.yaml': policyYaml(1) });
    const all = everywhere(sceneContents(names), { 'ConfigMap/web/innocent': 'new' });
    await fleet.holds(all);
    const again = fleet.push(bothGone);
    await (await leader()).looks.entered(again);
    const sameSets = await held(...of('a', 'b'));
    expect(sameSets.map(({ digest }) => digest)).toEqual(sets.map(({ digest }) => digest));
    expect(await fleet.contents()).toEqual(all);
  });

  it('an approval that comes in the same push approves nothing', async () => {
    const sets = await removeAtOnce();
    fleet.push(bothBack);
    await held();
    const files = Object.fromEntries(
      sets.map(({ digest }, at) => [`fleet/early-${at}.yaml`, approvalYaml(`early-${at}`, digest)]),
    );
    // The guards of the push that removes are the tight ones.
    fleet.push({ 'fleet/policy.yaml': policyYaml(1), 'apps/innocent.yaml': null });
    await fleet.holds(sceneContents(names));
    fleet.push({ ...files, ...bothGone });
    expect((await held(...of('a', 'b'))).map(({ digest }) => digest)).toEqual(sets.map(({ digest }) => digest));
    expect(await fleet.contents()).toEqual(sceneContents(names));
  });
});

describe.skipIf(noProgram('redis-server'))("a Namespace's removal is approved for one source", () => {
  const NAMESPACE = 'Namespace//web';
  beforeEach(async () => {
    fleet = await startRelayFleet({
      clusters: directoryClusters.open(),
      names: ['east'],
      files: {
        'clusters/east/cluster.yaml': clusterYaml('east'),
        'clusters/east/namespace.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n',
      },
      sources: { other: { 'README.md': 'nothing yet' } },
    });
    await fleet.startAgents('east');
    await until('the Namespace is there', async () => NAMESPACE in ((await fleet.contents()).east ?? {}));
  });

  it("while another source's keeps lie in it: the Namespace stays", async () => {
    fleet.push({ 'clusters/east/namespace.yaml': null });
    const [set] = await held('east Namespace/web');
    await fleet.agent('east').kill('SIGKILL');
    await (await leader()).cli('approve', set?.digest ?? '');
    fleet.push({ 'clusters/east/kept.yaml': configMapYaml('kept', 'one') }, 'other');
    await until('it is wanted', async () => fleet.a.output('east', 'ConfigMap/web/kept'));
    await fleet.agent('east').start();
    const look = async (): Promise<readonly string[]> => Object.keys((await fleet.contents()).east ?? {}).sort();
    const both = ['ConfigMap/web/kept', NAMESPACE];
    await until('both are there', async () => (await look()).join() === both.join());
    const before = await fleet.versions();
    const broken = fleet.push({ 'clusters/east/kept.yaml': typo }, 'other');
    for (const replica of [fleet.a, fleet.b]) {
      await fleet.read(replica, broken);
      await replica.looks.said('east', 'ConfigMap/web/kept', 'kept');
      await replica.looks.said('east', 'Namespace/web', 'kept', /stays while objects in it are meant to be there/);
    }
    // Something that both are behind is applied, so that they would have gone by now.
    fleet.push({ 'clusters/east/innocent.yaml': configMapYaml('innocent', 'one', 'elsewhere') });
    await until('the innocent one is there', async () => (await look()).includes('ConfigMap/elsewhere/innocent'));
    expect(await fleet.versions()).toMatchObject(before);
  });
});
