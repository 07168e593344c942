import type { DocumentContent } from '../../model/desired.ts';
import type { LastRead } from '../../model/ledger.ts';
import type { Origin } from '../../model/output.ts';
import type { Collection, Contribution, Derived, Graph, Index, Reader } from '../collections/types.ts';
import type { SourceValue } from '../inputs.ts';
import { type Claim, elect } from './elect.ts';
import { type DocumentRef, type DocumentValue, originOf, proofOf, provesAbsence, type SourceProof } from './sources.ts';

/** Something that exactly one document of the fleet declares, by name. */
export interface Declared<Value> {
  readonly value: Value;
  readonly origin: Origin;
  /** Of the document in its file; empty while the declaration holds as last read. */
  readonly identity: string;
  /** The declaration cannot be read just now and holds as last read. */
  readonly asLastRead: boolean;
  /** Other declarations of the same name, which do not count. */
  readonly losers: readonly DocumentRef[];
}

/** What every rule about declarations looks at. */
export interface DeclarationInputs {
  readonly documents: Collection<DocumentValue>;
  readonly sources: Collection<SourceValue>;
  readonly fileProofs: Collection<SourceProof>;
  readonly doubts: Index<SourceProof>;
}

/**
 * Collects the declarations of one kind by name (empty partition) and elects one each. An incumbent whose document cannot
 * be read holds as last read.
 */
export function deriveDeclared<Value>(
  graph: Graph,
  name: string,
  inputs: DeclarationInputs,
  declares: (content: DocumentContent) => { readonly name: string; readonly value: Value } | undefined,
  lastRead: Collection<LastRead<Value>>,
): Derived<Declared<Value>> {
  const claims = graph.gather<DocumentValue, Claim<Value>>({
    name: `${name}Claims`,
    from: inputs.documents,
    compute: ({ partition, key, value }, _read, emit) => {
      const declared = declares(value.content);
      if (declared === undefined) return;
      const origin = originOf({ partition, key });
      emit('', declared.name, { origin, identity: value.identity, value: declared.value });
    },
  });
  type Claims = readonly Contribution<Claim<Value>>[];
  const reads = [inputs.sources, inputs.fileProofs, inputs.doubts];
  const choose = (all: Claims, before: LastRead<Value> | undefined, read: Reader): Declared<Value> | undefined =>
    electDeclared(
      all.map((claim) => claim.value),
      before,
      read,
      inputs,
    );
  return graph.join<Claims, LastRead<Value>, Declared<Value>>({
    name,
    left: claims,
    right: lastRead,
    reads,
    compute: ({ key, left = [], right }, read, emit) => {
      const declared = choose(left, right, read);
      if (declared !== undefined) emit('', key, declared);
    },
  });
}

function electDeclared<Value>(
  claims: readonly Claim<Value>[],
  lastRead: LastRead<Value> | undefined,
  read: Reader,
  { sources, fileProofs, doubts }: DeclarationInputs,
): Declared<Value> | undefined {
  const election = elect(
    claims,
    lastRead?.origin,
    (source) => read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER,
    (origin) => provesAbsence(proofOf(read, fileProofs, doubts, origin.source)),
  );
  switch (election.type) {
    case 'none':
      return undefined;
    case 'won': {
      const { winner, losers } = election;
      const losing = losers.map(refOfClaim);
      return {
        value: winner.value,
        origin: winner.origin,
        identity: winner.identity,
        asLastRead: false,
        losers: losing,
      };
    }
    case 'held': {
      if (lastRead === undefined) return undefined;
      const losing = election.claims.map(refOfClaim);
      return { value: lastRead.value, origin: lastRead.origin, identity: '', asLastRead: true, losers: losing };
    }
  }
}

function refOfClaim({ origin, identity }: Claim<unknown>): DocumentRef {
  return { ...origin, identity };
}
