import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { objectOf, objectsOf } from '../../../src/model/text/json.ts';
import type { MakeChecker } from '../checkers/checker.ts';
import type { Dice } from '../core/dice.ts';
import type { Breakage, FileModel } from '../desired.ts';
import type { SimRepository } from '../ports/repository.ts';
import type { World } from '../world.ts';

/** Declared data planes of one service, in files of all repositories, which a ServiceMirror makes known in all clusters. */

/** Data planes that are declared at all times, and those that come and go. Their addresses end with their number. */
const LASTING = [1, 2, 3] as const;
const PASSING = [4, 5] as const;

const SERVICE = '/Service/machines/default-db';
const SLICE = 'discovery.k8s.io/EndpointSlice/machines/default-db-5432-ipv4' as ObjectKey;

/** The keys of the objects that mirroring makes of the service. */
export const machineKeys: readonly string[] = [SERVICE, SLICE];

/** All data planes that last are declared, and a mirror reads their mesh. */
export function beginMachines({ repositories }: World): void {
  const spec = { from: { meshes: ['default'], namespace: 'machines' }, to: { selector: {} } };
  const manifest = {
    ...{ apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'ServiceMirror', metadata: { name: 'machines' } },
    spec,
  };
  repositories[0]?.commit(
    new Map([['fleet/machines.yaml', { docs: [{ type: 'manifest', manifest }], broken: undefined }]]),
  );
  for (const number of LASTING) commit(repositories, number, machine(number, true));
}

/** Something happens to a data plane: it becomes ready or not, comes or goes, or its file is broken for a while. */
export function changeMachines({ repositories, note, time }: World, dice: Dice): void {
  if (!dice.chance(0.5)) return;
  const number = dice.pick([...LASTING, ...PASSING]);
  const isPassing = !LASTING.some((each) => each === number);
  if (dice.chance(0.4)) {
    const broken = dice.pick<Breakage>(['syntax', 'conflict']);
    note(`the file of data plane ${number} is broken: ${broken}`);
    setBroken(repositories, number, broken);
    time.in(1_000 + dice.int(120_000), () => setBroken(repositories, number, undefined));
  } else if (isPassing && dice.chance(0.5)) {
    note(`data plane ${number} is gone`);
    commit(repositories, number, null);
  } else {
    const isReady = dice.chance(0.5);
    note(`data plane ${number} is ${isReady ? '' : 'not '}ready`);
    commit(repositories, number, machine(number, isReady));
  }
}

/** All files can be read again. */
export function mendMachines({ repositories }: World): void {
  for (const number of [...LASTING, ...PASSING]) setBroken(repositories, number, undefined);
}

/** No delta takes the address of a data plane that lasts, also while its file cannot be read and after everything was lost. */
export const lastingMachines: MakeChecker = (world, fail) => {
  world.listen((event) => {
    if (event.type !== 'offered') return;
    const { cluster, delta } = event;
    for (const key of delta.removals) if (machineKeys.includes(key)) fail(`${key} is removed in ${cluster.name}`);
    for (const { key, value } of delta.upserts) {
      if (key !== SLICE) continue;
      const [before, after] = [cluster.memory.objects.get(SLICE)?.value, value].map((slice) =>
        objectsOf(slice?.endpoints).map((one) => String(one.addresses)),
      );
      const missing = LASTING.map(addressOf).filter((each) => before?.includes(each) && !after?.includes(each));
      if (missing.length > 0) fail(`${cluster.name} is to lose ${missing.join(', ')}, which is declared`);
    }
  });
  return {
    name: 'lasting machines',
    atRest: () => {
      for (const difference of machineDifferences(world)) fail(difference);
    },
  };
};

/** The clusters in which the service is not as it is declared. */
export function machineDifferences({ agents, repositories }: World): readonly string[] {
  const wanted = [...LASTING, ...PASSING].flatMap((number) => {
    const { docs = [] } = repositoryOf(repositories, number)?.tree().get(pathOf(number)) ?? {};
    return docs.flatMap((doc) => {
      if (doc.type !== 'manifest') return [];
      const [{ state } = {}] = objectsOf(objectOf(doc.manifest.networking).inbound);
      return [`${addressOf(number)} ${state === 'Ready'}`];
    });
  });
  return agents.flatMap(({ cluster: { name, memory } }) => {
    const endpoints = objectsOf(memory.objects.get(SLICE)?.value.endpoints);
    const found = endpoints.map((one) => `${String(one.addresses)} ${String(objectOf(one.conditions).ready)}`);
    const isSame = found.join() === wanted.join();
    return isSame ? [] : [`the slice of ${name} has ${found.join(', ')}, not ${wanted.join(', ')}`];
  });
}

function machine(number: number, isReady: boolean): FileModel {
  const inbound = [{ port: 5432, state: isReady ? 'Ready' : 'NotReady', tags: { 'kuma.io/service': 'db' } }];
  const networking = { address: addressOf(number), inbound };
  const manifest = { type: 'Dataplane', mesh: 'default', name: `d${number}`, networking };
  return { docs: [{ type: 'manifest', manifest }], broken: undefined };
}

function commit(repositories: readonly SimRepository[], number: number, file: FileModel | null): void {
  repositoryOf(repositories, number)?.commit(new Map([[pathOf(number), file]]));
}

function setBroken(repositories: readonly SimRepository[], number: number, broken: FileModel['broken']): void {
  const file = repositoryOf(repositories, number)?.tree().get(pathOf(number));
  if (file !== undefined && file.broken !== broken) commit(repositories, number, { ...file, broken });
}

function repositoryOf(repositories: readonly SimRepository[], number: number): SimRepository | undefined {
  return repositories[number % repositories.length];
}

const pathOf = (number: number): string => `machines/d${number}.yaml`;
const addressOf = (number: number): string => `10.8.0.${number}`;
