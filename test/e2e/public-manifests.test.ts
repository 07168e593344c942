import { describe, expect, it } from 'vitest';
import { type PublicName, publicManifests } from '../../scripts/local/public-manifests.ts';
import { decodeFile } from '../support/decode-file.ts';
import { looksOf } from '../support/fleet-looks.ts';
import { type Fleet, until } from '../support/fleet-processes.ts';
import {
  type AuditedPlane,
  type AuditedRequest,
  isWrite,
  type ReplicaProcess,
  startAuditedPlane,
  startReplicatedFleet,
} from '../support/kubernetes/agent-process.ts';
import { isLong } from '../support/long.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const AGENT = 'agent';
const CLUSTER = 'east';
const LAST = `clusters/${CLUSTER}/last.yaml`;

/** The files of one project below the folder of the cluster. */
function filesOf(files: ReadonlyMap<string, Uint8Array>, wanted: RegExp): Readonly<Record<string, string>> {
  const text = new TextDecoder();
  return Object.fromEntries(
    [...files].flatMap(([path, bytes]) =>
      wanted.test(path) ? [[`clusters/${CLUSTER}/${path}`, text.decode(bytes)]] : [],
    ),
  );
}

describe.skipIf(noProgram('kube-controller-manager') || !isLong)(
  'manifests of well-known projects in a real cluster',
  () => {
    const PROJECTS: readonly (readonly [name: PublicName, files: RegExp, objects: number])[] = [
      ['kube-prometheus', /^manifests\//, 130],
      ['argo-cd', /^manifests\/install\.yaml$/, 59],
    ];

    it.for(PROJECTS)(
      'all objects of %s are applied, and nothing is written afterwards',
      async ([name, wanted, least], { skip }) => {
        const found = await publicManifests(name);
        if (!found.ok) return skip(found.problem);
        const files = filesOf(found.files, wanted);
        const objects = Object.entries(files).flatMap(([path, text]) => {
          const { reading } = decodeFile(path, new TextEncoder().encode(text), '');
          return reading.readable ? reading.documents : [];
        });
        expect(objects.length).toBeGreaterThanOrEqual(least);
        const audited = await startAuditedPlane([AGENT], { controllers: true });
        let fleet: (Fleet & { replica(name: string): ReplicaProcess }) | undefined;
        try {
          for (const namespace of ['web', 'fleetrelay'])
            await audited.plane.kubectl(['create', 'namespace', namespace]);
          const head = { 'clusters/east/cluster.yaml': clusterYaml(CLUSTER), [LAST]: configMapYaml('last', '0') };
          fleet = await startReplicatedFleet({ ...head, ...files }, audited, CLUSTER);
          await staysQuiet(fleet, audited, objects.length + 1);
        } finally {
          await fleet?.stop();
          await audited.stop();
        }
      },
    );
  },
);

/**
 * Waits until all objects are applied. Then the agent compares all of them again at each start, and must write only the
 * object that changes afterwards.
 */
async function staysQuiet(
  fleet: Fleet & { replica(name: string): ReplicaProcess },
  audited: AuditedPlane,
  objects: number,
): Promise<void> {
  const agent = fleet.replica(AGENT);
  const looks = looksOf(() => fleet, 240_000);
  await agent.startReplica();
  await looks.summary(/^applied by 1 of 1 clusters$/);
  expect(await metric(agent, 'fleetrelay_agent_objects', 'state="wanted"')).toBe(objects);
  expect(objectWrites(audited.audit()).length).toBeGreaterThanOrEqual(objects);
  for (const round of ['1', '2', '3']) {
    await agent.kill('SIGTERM');
    const before = audited.audit().length;
    await agent.startReplica();
    await looks.connected(CLUSTER);
    // Results are of this process: the agent compares each object before it reports one.
    await until('the agent has compared all objects', async () => {
      return (await metric(agent, 'fleetrelay_agent_objects', 'state="applied"')) === objects;
    });
    fleet.push({ [LAST]: configMapYaml('last', round) });
    await until('the last object is written', async () => {
      return (await audited.plane.kubectl(['get', 'configmap', 'last', '-n', 'web', '-o', 'yaml'])).includes(
        `"${round}"`,
      );
    });
    await looks.summary(/^applied by 1 of 1 clusters$/);
    expect(objectWrites(audited.audit().slice(before))).toEqual(['patch /api/v1/namespaces/web/configmaps/last']);
    expect(await metric(agent, 'fleetrelay_agent_object_writes_total', 'operation="apply"')).toBe(1);
    expect(await metric(agent, 'fleetrelay_agent_drift_reversals_total', '')).toBe(0);
  }
}

/** The writes of objects of the fleet: writes in the agent's own namespace are its inventory. */
function objectWrites(requests: readonly AuditedRequest[]): readonly string[] {
  const writes = requests.filter((request) => isWrite(request) && !request.uri.includes('/namespaces/fleetrelay/'));
  return writes.map(({ verb, uri }) => `${verb} ${uri.replace(/\?.*/, '')}`);
}

/** The sum of the samples of a metric with a label. */
async function metric(agent: ReplicaProcess, name: string, label: string): Promise<number> {
  const { text } = await agent.health('/metrics');
  const samples = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
