import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { clusterYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const NAMESPACE = 'garden-web';
const CRDS = ['-f', 'deploy/crds'];
const OPERATION = 'gardener.cloud/operation';
const shoot = (name: string, purpose = 'production'): JsonObject => ({
  ...{ apiVersion: 'core.gardener.cloud/v1beta1', kind: 'Shoot', metadata: { name, namespace: NAMESPACE } },
  spec: { purpose, kubernetes: { version: '1.33.2' }, provider: { type: 'local' } },
});

describe.skipIf(noProgram('kube-apiserver'))('Shoots as custom resources of a real API server', () => {
  let plane: ControlPlane;
  let fleet: Fleet;

  const kubectl = (...args: string[]): Promise<string> => plane.kubectl([...args, '-n', NAMESPACE]);
  const apply = (object: JsonObject): Promise<string> =>
    plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  const patchStatus = (name: string, status: JsonObject): Promise<string> =>
    kubectl('patch', 'shoot', name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));
  const read = (name: string): Promise<JsonObject> => plane.get<JsonObject>('shoot', name, '-n', NAMESPACE);
  /** The Shoot, once its last operation has succeeded, what asked for it is answered, and it looks like this. */
  const succeeds = async (look: (shoot: JsonObject, status: JsonObject) => boolean): Promise<JsonObject> => {
    let last: JsonObject = {};
    return until('blue is as it should be', async () => {
      last = await read('blue');
      const status = objectOf(last.status);
      const isAnswered = objectOf(objectOf(last.metadata).annotations)[OPERATION] === undefined;
      const { state } = objectOf(status.lastOperation);
      return isAnswered && state === 'Succeeded' && look(last, status) ? last : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; it is ${JSON.stringify(last)}`);
    });
  };
  const updated = (shoot: JsonObject): string => textOf(objectOf(objectOf(shoot.status).lastOperation).lastUpdateTime);

  beforeAll(async () => {
    plane = await startControlPlane();
    await plane.kubectl(['create', 'namespace', NAMESPACE]);
    await plane.kubectl(['apply', '--server-side', '--force-conflicts', ...CRDS]);
    await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', ...CRDS]);
    const where = ['--kubeconfig', plane.kubeconfig(), '-n', NAMESPACE];
    const files = {
      'clusters/blue/cluster.yaml': clusterYaml('blue'),
      'clusters/red/cluster.yaml': clusterYaml('red'),
    };
    fleet = await startFleet(files, { serve: ['--custom-resources', ...where] });
    await fleet.agent('blue').start();
    await fleet.agent('red').start();
    await apply(shoot('blue'));
  });
  afterAll(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  it('have a status with uid and observedGeneration, and the label', async () => {
    const { metadata, status } = await succeeds(({ metadata }, { conditions }) => {
      const labels = objectOf(objectOf(metadata).labels);
      const types = objectsOf(conditions).filter((each) => each.status === 'True');
      return labels['shoot.gardener.cloud/status'] === 'healthy' && types.length === 4;
    });
    const { uid, generation } = objectOf(metadata);
    expect(status).toMatchObject({
      ...{ uid, observedGeneration: generation, technicalID: 'shoot--web--blue', hibernated: false },
      gardener: { id: 'test', name: 'fleetrelay' },
      lastOperation: { type: 'Create', state: 'Succeeded', progress: 100 },
    });
    expect(objectsOf(objectOf(status).constraints).map(({ type }) => type)).toContain('HibernationPossible');
  });

  it('are columns of kubectl', async () => {
    const rows = (text: string): readonly (readonly string[])[] =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/));
    const table = await kubectl('get', 'shoots');
    expect(rows(table)[0]?.map((name) => name.trim())).toEqual(
      expect.arrayContaining(['NAME', 'K8S VERSION', 'HIBERNATED', 'LAST OPERATION', 'STATE', 'PROGRESS', 'STATUS']),
    );
    expect(table).toMatch(/\nblue +local +1\.33\.2 +false +Create +Succeeded +100 +healthy +\d+s/);
    const wide = await kubectl('get', 'shoots', '-o', 'wide');
    expect(wide).toMatch(/\nblue .* healthy +production +\S+ +True +True +True +True +/);
  });

  it('are reconciled by the annotation, which is taken off, and by a changed spec', async () => {
    const before = updated(await read('blue'));
    await kubectl('annotate', 'shoot', 'blue', `${OPERATION}=reconcile`, 'example.com/other=stays');
    const reconciled = await succeeds((_, { lastOperation }) => objectOf(lastOperation).type === 'Reconcile');
    expect(objectOf(objectOf(reconciled.metadata).annotations)['example.com/other']).toBe('stays');
    expect(updated(reconciled) > before).toBe(true);
    await apply(shoot('blue', 'evaluation'));
    const changed = await succeeds((object, { observedGeneration }) => {
      return observedGeneration === 2 && updated(object) > updated(reconciled);
    });
    expect(objectOf(changed.metadata).generation).toBe(2);
  });

  it('keep condition types of others', async () => {
    const { conditions } = objectOf((await read('blue')).status);
    const times = { lastTransitionTime: '2026-01-01T00:00:00Z', lastUpdateTime: '2026-01-01T00:00:00Z' };
    const theirs = { type: 'BackupReady', status: 'True', reason: 'Done', message: 'it is there', ...times };
    await patchStatus('blue', { conditions: [...objectsOf(conditions), theirs] });
    const before = updated(await read('blue'));
    await kubectl('annotate', 'shoot', 'blue', `${OPERATION}=reconcile`);
    const after = await succeeds((object) => updated(object) > before);
    expect(objectsOf(objectOf(after.status).conditions)).toContainEqual(theirs);
  });

  it('of a real Gardener are listed and never written', async () => {
    await fleet.server.kill('SIGKILL');
    await apply(shoot('red'));
    await patchStatus('red', {
      ...{ gardener: { id: 'other', name: 'gardenlet', version: 'v1.120.0' }, hibernated: false, technicalID: 'x' },
      ...{ observedGeneration: 1, uid: 'theirs' },
      lastOperation: {
        ...{ type: 'Reconcile', state: 'Processing', progress: 42, description: 'theirs' },
        lastUpdateTime: '2026-01-01T00:00:00Z',
      },
    });
    await kubectl('annotate', 'shoot', 'red', `${OPERATION}=reconcile`);
    const before = await read('red');
    await fleet.server.start();
    // The server is at work when it has seen this.
    await apply(shoot('blue', 'production'));
    await succeeds((_, { observedGeneration }) => observedGeneration === 3);
    const listed = await until('it is listed', async () =>
      (JSON.parse(await fleet.cli('get', 'shoots', '-o', 'json')) as readonly JsonObject[]).find(
        ({ name }) => name === 'red',
      ),
    );
    expect(listed).toMatchObject({ namespace: NAMESPACE, lastOperation: 'Reconcile Processing (42%)' });
    expect(await read('red')).toEqual(before);
  });
});
