import type { Origin } from '../../model/fleet/output.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import type { Collection, Contribution, Derived, Graph, Index } from '../collections/types.ts';
import { documentKey } from '../fleet/sources.ts';
import type { Candidate } from '../placement/wants.ts';
import { type Electorate, meetsRequirement } from './election.ts';
import type { Output } from './outputs.ts';

/** A want of a domain whose key another object has: one of another domain, or of a document. */
export interface LostWant {
  readonly cluster: string;
  readonly key: ObjectKey;
  /** The name of the domain that makes the object, or the file that it comes from. */
  readonly to: { readonly domain: string } | Origin;
  /** The address of the document that the want comes from: see {@link subjectOfDocument}. */
  readonly subject: string;
}

/** What the index of {@link deriveLostWants} groups by. */
export function subjectOfDocument(source: string, path: string, identity: string): string {
  return `${source}\u0000${documentKey(path, identity)}`;
}

/** Says to a person which object a want has lost, and to whom. */
export function lostTo({ cluster, key, to }: LostWant): string {
  const by = 'domain' in to ? `is made by the domain ${to.domain}` : `comes from ${to.path} of source ${to.source}`;
  return `${displayKey(key)} of cluster ${cluster} ${by}, which had the name first`;
}

/** Derives the wants of domains that lose their key to another domain or to a document, by the document that they come from. */
export function deriveLostWants(
  graph: Graph,
  inputs: Electorate,
  outputs: Collection<Output>,
): { readonly lost: Derived<LostWant>; readonly bySubject: Index<LostWant> } {
  const { candidates, ledger, sources, results, live, proofs } = inputs;
  const shared = graph.index('keysOfSeveralMakers', candidates, ({ partition, key, value }) =>
    isOfSeveral(value) ? [`${partition}\u0000${key}`] : [],
  );
  const lost = graph.derive<number, LostWant>({
    name: 'lostWants',
    from: graph.counts('keysOfSeveralMakersCounts', shared),
    reads: [candidates, outputs, ledger, sources, results, live, ...proofs.reads],
    seesAll: true,
    compute: ({ key: address }, read, emit) => {
      const cluster = address.slice(0, address.indexOf('\u0000'));
      const key = address.slice(cluster.length + 1) as ObjectKey;
      const output = read.get(outputs, cluster, key);
      const entry = read.get(ledger, cluster, key);
      const { madeBy, origins } = (output?.type === 'object' ? output : entry) ?? { origins: [] };
      const to = madeBy === undefined ? origins[0] : { domain: madeBy };
      if (to === undefined) return;
      const isWinner = ({ derived, origin }: Candidate): boolean =>
        'domain' in to
          ? derived?.domain === to.domain
          : output?.type !== 'object' && origin.source === to.source && origin.path === to.path;
      const at = { read, inputs, cluster, entry };
      const losing = (read.get(candidates, cluster, key) ?? []).flatMap(({ value }) => {
        if (value.derived === undefined || isWinner(value) || meetsRequirement(at, value) === 'no') return [];
        return [subjectOfDocument(value.origin.source, value.origin.path, value.identity)];
      });
      for (const subject of new Set(losing)) emit('', `${subject}\u0000${address}`, { cluster, key, to, subject });
    },
  });
  return { lost, bySubject: graph.index('lostWantsBySubject', lost, ({ value }) => [value.subject]) };
}

/** Whether a domain wants the key, and another domain or a document does. */
function isOfSeveral(wants: readonly Contribution<Candidate>[]): boolean {
  if (wants.length < 2) return false;
  const makers = new Set(wants.map(({ value }) => value.derived?.domain));
  return makers.size > 1;
}
