import type { LedgerEntry } from '../../model/fleet/ledger.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import type { Collection, Contribution, Derived, Graph, Index } from '../collections/types.ts';
import { documentKey } from '../fleet/sources.ts';
import type { Candidate } from '../placement/wants.ts';
import type { Output } from './outputs.ts';

/** A want of a domain whose key an object of another domain has. */
export interface LostWant {
  readonly cluster: string;
  readonly key: ObjectKey;
  /** The name of the domain that makes the object. */
  readonly to: string;
  /** The address of the document that the want comes from: see {@link subjectOfDocument}. */
  readonly subject: string;
}

/** What the index of {@link deriveLostWants} groups by. */
export function subjectOfDocument(source: string, path: string, identity: string): string {
  return `${source}\u0000${documentKey(path, identity)}`;
}

/** Says to a person which object a want has lost. */
export function lostTo({ cluster, key, to }: LostWant): string {
  return `${displayKey(key)} of cluster ${cluster} is made by the domain ${to}, which had the name first`;
}

/** Derives the wants of domains that lose their key to another domain, by the document that they come from. */
export function deriveLostWants(
  graph: Graph,
  candidates: Collection<readonly Contribution<Candidate>[]>,
  outputs: Collection<Output>,
  ledger: Collection<LedgerEntry>,
): { readonly lost: Derived<LostWant>; readonly bySubject: Index<LostWant> } {
  const shared = graph.index('keysOfSeveralDomains', candidates, ({ partition, key, value }) =>
    isOfSeveral(value) ? [`${partition}\u0000${key}`] : [],
  );
  const lost = graph.derive<number, LostWant>({
    name: 'lostWants',
    from: graph.counts('keysOfSeveralDomainsCounts', shared),
    reads: [candidates, outputs, ledger],
    seesAll: true,
    compute: ({ key: address }, read, emit) => {
      const cluster = address.slice(0, address.indexOf('\u0000'));
      const key = address.slice(cluster.length + 1) as ObjectKey;
      const output = read.get(outputs, cluster, key);
      const to = output?.type === 'object' ? output.madeBy : read.get(ledger, cluster, key)?.madeBy;
      if (to === undefined) return;
      const losing = (read.get(candidates, cluster, key) ?? []).flatMap(({ value: { derived, origin, identity } }) =>
        derived === undefined || derived.domain === to ? [] : [subjectOfDocument(origin.source, origin.path, identity)],
      );
      for (const subject of new Set(losing)) emit('', `${subject}\u0000${address}`, { cluster, key, to, subject });
    },
  });
  return { lost, bySubject: graph.index('lostWantsBySubject', lost, ({ value }) => [value.subject]) };
}

function isOfSeveral(wants: readonly Contribution<Candidate>[]): boolean {
  if (wants.length < 2) return false;
  const domains = new Set(wants.flatMap(({ value }) => value.derived?.domain ?? []));
  return domains.size > 1;
}
