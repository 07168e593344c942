import type { Contribution, Derived } from '../../../engine/collections/types.ts';
import type { EngineDiagnostic, Reason } from '../../../engine/domain.ts';
import type { Declarations, Declared } from '../../../engine/fleet/declared.ts';
import { isSameOrigin } from '../../../engine/fleet/elect.ts';
import { type DocumentRef, documentRefOf } from '../../../engine/fleet/sources.ts';
import type { Output } from '../../../engine/output/outputs.ts';
import type { Candidate } from '../../../engine/placement/wants.ts';
import type { Origin } from '../../../model/fleet/output.ts';
import type { WrittenPath } from '../../../model/text/field-path.ts';
import { objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { type KnownDataplane, networkingOf } from '../../health/index.ts';
import type { MeshExport } from './mesh-mirrors.ts';
import { type AddressUse, type MeshSlices, partGroup, partOf, sliceAt } from './mesh-slices.ts';
import { sliceAddressOf } from './slice-address.ts';

/** The live objects that a mirrored one stands for, the winner first, and the ServiceMirrors that select them. */
export function explainLive(
  candidates: readonly Contribution<Candidate>[],
  output: Output | undefined,
): readonly Reason[] {
  const live = new Map<string, { readonly reason: Reason; readonly counts: boolean }>();
  const rules = new Map<string, Reason>();
  for (const { from, value } of candidates) {
    const standsFor = value.derived?.standsFor;
    if (standsFor === undefined || 'named' in standsFor) continue;
    const { cluster, key } = standsFor;
    const counts = output?.type !== 'object' || (output.digest === value.digest && output.scope[0] === cluster);
    const part = counts ? 'lives there, and is mirrored' : 'would have the same name, and does not count';
    live.set(`${cluster}/${key}`, { reason: { type: 'live', cluster, key, part }, counts });
    const { name, at } = mirrorOf(documentRefOf(from));
    rules.set(name, { type: 'rule', kind: 'ServiceMirror', name, at, part: 'selects the service and both clusters' });
  }
  const sorted = [...live.values()].sort((a, b) => Number(b.counts) - Number(a.counts));
  return [...sorted.map(({ reason }) => reason), ...rules.values()];
}

function mirrorOf(at: DocumentRef) {
  return { at, name: at.identity.slice(at.identity.lastIndexOf('/') + 1).replace(/#\d+$/, '') };
}

/** Where services of meshes come from. */
interface MeshSources {
  readonly exports: Derived<MeshExport>;
  readonly slices: MeshSlices;
  readonly declared: Derived<KnownDataplane>;
  readonly declarations: Declarations;
}

/** An explanation names at most this many data planes: each one costs a look into its file. */
const NAMED = 20;

/** The data planes that an object has addresses of, unready ones first, and the ServiceMirrors that read the mesh. */
export function explainMesh(
  sources: MeshSources,
  candidates: readonly Contribution<Candidate>[],
  output: Output | undefined,
): readonly Reason[] {
  const origins = output === undefined || output.type === 'absent' ? [] : output.origins;
  const counts = ({ value }: Contribution<Candidate>) => output?.type !== 'object' || output.digest === value.digest;
  return candidates
    .filter(({ value: { derived } }) => derived !== undefined && 'named' in derived.standsFor)
    .sort((a, b) => Number(counts(b)) - Number(counts(a)))
    .flatMap((candidate): readonly Reason[] => {
      const { from } = candidate;
      const exported = sources.exports.get(from.partition, from.key);
      if (exported === undefined) return [];
      const what = `the mesh ${exported.mesh} and the cluster`;
      const part = counts(candidate) ? `selects ${what}` : `selects ${what}, and does not count`;
      const { name, at } = mirrorOf(documentRefOf(from));
      return [...dataplanesOf(sources, exported, origins), { type: 'rule', kind: 'ServiceMirror', name, at, part }];
    });
}

/** A declared data plane with an address of an object. */
interface Named {
  readonly use: AddressUse;
  readonly reason: Reason;
}

function dataplanesOf(sources: MeshSources, exported: MeshExport, origins: readonly Origin[]): readonly Reason[] {
  const { addresses, parts, partIndex, byPart } = sources.slices;
  const { mesh, service, slice } = exported;
  const keys =
    slice === undefined ? partIndex.members(partGroup.service(mesh, service)).map(({ key }) => key) : [slice.part];
  const found = keys.flatMap((part) => {
    const begins = parts.get('', part)?.slices ?? [];
    return byPart.members(part).flatMap(({ key }) =>
      (addresses.get('', key) ?? []).flatMap(({ from, value: use }): readonly Named[] => {
        if (slice !== undefined && sliceAt(begins, use.position) !== slice.begin) return [];
        const its = declarationOf(sources, from.key);
        if (its === undefined) return [];
        const set = `which is ${use.isReady ? '' : 'not '}in the load-balancing set`;
        const reason = ruleOf(
          its.declaration,
          `has the address ${displayAddress(use.address)}:${partOf(part).port}, ${set}`,
        );
        return [{ use, reason }];
      }),
    );
  });
  const sorted = found.sort((a, b) => Number(a.use.isReady) - Number(b.use.isReady));
  // An origin without a reason would be shown as one that was declared before.
  const needed = origins.flatMap((origin) => sorted.find(({ use }) => isSameOrigin(use.origin, origin)) ?? []);
  const shown = new Set([...needed, ...sorted].slice(0, NAMED));
  return sorted.filter((one) => shown.has(one)).map(({ reason }) => reason);
}

function ruleOf({ name, origin, identity }: Declared, part: string): Reason {
  return { type: 'rule', kind: 'Dataplane', name, at: { ...origin, identity }, part };
}

/** The declaration of a data plane, and its key. */
function declarationOf({ declared, declarations }: MeshSources, dataplane: string) {
  const from = declared.get('', dataplane)?.from;
  const declaration = from?.type === 'declared' ? declarations.get('Dataplane', from.key) : undefined;
  return from?.type !== 'declared' || declaration === undefined ? undefined : { key: from.key, declaration };
}

function displayAddress(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

/** Warnings of addresses that no slice can have, one for each data plane and address. */
export function leftOutAddresses(sources: MeshSources): readonly EngineDiagnostic[] {
  const warnings = new Map<string, EngineDiagnostic>();
  for (const { value } of sources.slices.leftOut.members('all')) {
    for (const { from, value: use } of value) {
      const its = declarationOf(sources, from.key);
      const address = sliceAddressOf(use.address);
      if (its === undefined || address.family !== 'none') continue;
      const { origin, identity } = its.declaration;
      warnings.set(JSON.stringify([from.key, use.address]), {
        severity: 'warning',
        reason: 'AddressNotMirrored',
        message: `the address ${use.address} of Dataplane ${from.key} ${address.because}, so it is in no EndpointSlice of its mirrored services`,
        at: [{ ...origin, identity, field: fieldOf(its, use.address) }],
      });
    }
  }
  return [...warnings.values()];
}

/** Where a Dataplane names the address that others use. */
function fieldOf({ key, declaration }: NonNullable<ReturnType<typeof declarationOf>>, address: string): WrittenPath {
  const networking = networkingOf(key);
  const { advertisedAddress, inbound } = objectOf(declaration.value.spec.networking);
  if (textOf(advertisedAddress) !== '') return [...networking, 'advertisedAddress'];
  const at = objectsOf(inbound).findIndex((one) => one.address === address);
  return at === -1 ? [...networking, 'address'] : [...networking, 'inbound', at, 'address'];
}
