import type { ObservedStatus } from '../../model/conditions.ts';
import type { DeclarationValues } from '../../model/desired.ts';
import type { EngineKind } from '../../model/engine-kinds.ts';
import type { LastKnownGood } from '../../model/ledger.ts';
import type { Origin } from '../../model/output.ts';
import { structurallyEqual } from '../collections/equality.ts';
import type {
  Collection,
  Contribution,
  Derivation,
  Derived,
  Entry,
  Graph,
  Index,
  Reader,
} from '../collections/types.ts';
import type { SourceValue } from '../inputs.ts';
import type { joinAccepts, Refusal } from './accepts.ts';
import { type Contender, elect } from './elect.ts';
import { type DocumentRef, type DocumentValue, originOf, proofOf, provesAbsence, type SourceProof } from './sources.ts';

/** The declaration that is in force for one key of a kind. */
export type Declared<Kind extends EngineKind = EngineKind> = {
  [Each in Kind]: {
    readonly kind: Each;
    /** As written; empty if the document names none. */
    readonly namespace: string;
    readonly name: string;
    readonly value: DeclarationValues[Each];
    readonly origin: Origin;
    /** Of the document in its file; empty while the declaration holds as last known good. */
    readonly identity: string;
    /** The declaration cannot be read now, and what it said last is in force. */
    readonly isLastKnownGood: boolean;
    /** Why the change that the document makes is not taken: what was declared before holds as last known good. */
    readonly refusal?: Refusal;
    /** Other declarations of the same key, which are not in force. */
    readonly losers: readonly DocumentRef[];
  };
}[Kind];

/** What is declared. Partition: the id of the kind. Key: `declarationKey`. */
export interface Declarations extends Derived<Declared> {
  get<Kind extends EngineKind>(kind: Kind, key: string): Declared<Kind> | undefined;
  entries<Kind extends EngineKind>(kind: Kind): Iterable<Entry<Declared<Kind>>>;
}

/** What the election of declarations reads. */
export interface DeclarationInputs {
  readonly documents: Collection<DocumentValue>;
  readonly sources: Collection<SourceValue>;
  readonly fileProofs: Collection<SourceProof>;
  readonly doubts: Index<SourceProof>;
  /** Same addresses as {@link Declarations}. */
  readonly lastKnownGood: Collection<LastKnownGood>;
  /** Same addresses: the status written last. */
  readonly observed: Collection<ObservedStatus>;
  readonly accepts: ReturnType<typeof joinAccepts>;
}

type DeclaredClaim = Contender<Pick<Declared, 'namespace' | 'name' | 'value'>>;

/**
 * Elects one declaration for each key of each kind. If the document of the declaration in force cannot be read, the
 * declaration holds as last known good.
 */
export function deriveDeclarations(graph: Graph, inputs: DeclarationInputs): Declarations {
  const claims = graph.gather<DocumentValue, DeclaredClaim>({
    name: 'declarationClaims',
    from: inputs.documents,
    compute: ({ partition, key, value: { identity, content } }, _read, emit) => {
      if (content.type !== 'declaration') return;
      const { kind, key: declared, namespace, name, value } = content;
      emit(kind, declared, { origin: originOf({ partition, key }), identity, value: { namespace, name, value } });
    },
  });
  const declarations = graph.join<readonly Contribution<DeclaredClaim>[], LastKnownGood, Declared>({
    name: 'declarations',
    left: claims,
    right: inputs.lastKnownGood,
    reads: [inputs.sources, inputs.fileProofs, inputs.doubts, inputs.observed],
    compute: ({ partition: kind, key, left = [], right }, read, emit) => {
      const candidates = left.map((claim) => claim.value);
      const elected = electDeclared(candidates, right, read, inputs);
      if (elected === undefined) return;
      // The claims and the last known good of a partition are of its kind.
      const declared = { kind, ...elected } as Declared;
      emit(kind, key, right === undefined ? declared : acceptedOr(right, declared, key, read, inputs));
    },
  });
  return declarations as Declarations;
}

/** Makes a derivation compute once for each declaration of one kind. */
export function declaredOf<Kind extends EngineKind>(
  declarations: Declarations,
  kind: Kind,
): Pick<Derivation<Declared<Kind>, never>, 'from' | 'partition'> {
  return { from: declarations as Collection<Declared> as Collection<Declared<Kind>>, partition: kind };
}

function electDeclared(
  claims: readonly DeclaredClaim[],
  lastKnownGood: LastKnownGood | undefined,
  read: Reader,
  { sources, fileProofs, doubts }: DeclarationInputs,
): Omit<Declared, 'kind'> | undefined {
  const election = elect(
    claims,
    lastKnownGood?.origin,
    (source) => read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER,
    (origin) => provesAbsence(proofOf(read, fileProofs, doubts, origin.source)),
  );
  switch (election.type) {
    case 'none':
      return undefined;
    case 'won': {
      const { winner, losers } = election;
      const { origin, identity, value } = winner;
      return { ...value, origin, identity, isLastKnownGood: false, losers: losers.map(refOfClaim) };
    }
    case 'held': {
      if (lastKnownGood === undefined) return undefined;
      const { namespace, name, value, origin } = lastKnownGood;
      const losers = election.claims.map(refOfClaim);
      return { namespace, name, value, origin, identity: '', isLastKnownGood: true, losers };
    }
  }
}

/** The declaration, or what was declared before if a domain refuses the change. */
function acceptedOr(
  lastKnownGood: LastKnownGood,
  declared: Declared,
  key: string,
  read: Reader,
  { observed, accepts }: DeclarationInputs,
): Declared {
  const { kind, isLastKnownGood, value: after } = declared;
  const { value: before } = lastKnownGood;
  if (isLastKnownGood || structurallyEqual(before, after)) return declared;
  const refusal = accepts(kind, { before, after, observed: read.get(observed, kind, key) });
  return refusal === undefined
    ? declared
    : ({ ...declared, value: before, isLastKnownGood: true, refusal } as Declared);
}

function refOfClaim({ origin, identity }: DeclaredClaim): DocumentRef {
  return { ...origin, identity };
}
