import type { ObservedStatus } from '../../model/fleet/conditions.ts';
import type { DeclarationValues } from '../../model/fleet/desired.ts';
import { type EngineKind, engineKindRow, isEngineKind } from '../../model/fleet/engine-kinds.ts';
import type { Hold, LastKnownGood } from '../../model/fleet/ledger.ts';
import type { WrittenPath } from '../../model/text/field-path.ts';
import type { Collection, Contribution, Derivation, Derived, Entry, Graph, Reader } from '../collections/types.ts';
import { structurallyEqual } from '../collections/values.ts';
import type { EngineInputs } from '../inputs.ts';
import { type Contender, elect } from './elect.ts';
import { type DocumentRef, type DocumentValue, originOf, provesAbsence, type SourceProofs } from './sources.ts';

/** The declaration in force for one key of a kind. */
export type Declared<Kind extends EngineKind = EngineKind> = {
  [Each in Kind]: LastKnownGood<Each> & {
    /** Of the document in its file; empty while the declaration holds as last known good. */
    readonly identity: string;
    /** The document cannot be read or its change was refused, and the last known good value is in force. */
    readonly isLastKnownGood: boolean;
    /** Why a domain refused the change that the document makes. */
    readonly refusal?: Refusal;
    /** Other declarations of the same key, which are not in force. */
    readonly losers: readonly DocumentRef[];
  };
}[Kind];

/** The declarations in force. Partition: the id of the kind. Key: `declarationKey`. */
export interface Declarations extends Derived<Declared> {
  get<Kind extends EngineKind>(kind: Kind, key: string): Declared<Kind> | undefined;
  entries<Kind extends EngineKind>(kind: Kind): Iterable<Entry<Declared<Kind>>>;
}

/** What {@link deriveDeclarations} reads. */
interface DeclarationInputs extends EngineInputs {
  readonly documents: Collection<DocumentValue>;
  /** Judged by the files alone. */
  readonly fileProofs: SourceProofs;
  readonly accepts: ReturnType<typeof joinAccepts>;
}

interface DeclaredContender extends Contender<Pick<Declared, 'namespace' | 'name' | 'value'>> {
  /** Its source may not declare this. */
  readonly refusal?: Refusal;
}

/**
 * Elects one declaration for each key of each kind. While the document of the declaration in force cannot be read, its last
 * known good value is in force.
 */
export function deriveDeclarations(graph: Graph, inputs: DeclarationInputs): Declarations {
  const contenders = graph.gather<DocumentValue, DeclaredContender>({
    name: 'declarationContenders',
    from: inputs.documents,
    compute: ({ partition, key, value: { identity, content, refusal } }, _read, emit) => {
      if (content.type !== 'declaration') return;
      const { kind, key: declared, namespace, name, value } = content;
      emit(kind, declared, {
        origin: originOf({ partition, key }),
        identity,
        value: { namespace, name, value },
        ...(refusal === undefined ? {} : { refusal }),
      });
    },
  });
  const declarations = graph.join<readonly Contribution<DeclaredContender>[], LastKnownGood, Declared>({
    name: 'declarations',
    left: contenders,
    right: inputs.lastKnownGood,
    reads: [inputs.sources, ...inputs.fileProofs.reads, inputs.observed],
    compute: ({ partition: kind, key, left = [], right }, read, emit) => {
      const elected = electDeclared(left, right, read, inputs);
      if (elected === undefined) return;
      // The contenders and the last known good value of a partition are of its kind.
      const declared = { kind, ...elected } as Declared;
      emit(kind, key, right === undefined ? declared : acceptedOr(right, declared, key, read, inputs));
    },
  });
  return declarations as Declarations;
}

/** The part of a derivation that computes once for each declaration of one kind. */
export function declaredOf<Kind extends EngineKind>(
  declarations: Declarations,
  kind: Kind,
): Pick<Derivation<Declared<Kind>, never>, 'from' | 'partition'> {
  return { from: declarations as Collection<Declared> as Collection<Declared<Kind>>, partition: kind };
}

function electDeclared(
  contributions: readonly Contribution<DeclaredContender>[],
  lastKnownGood: LastKnownGood | undefined,
  read: Reader,
  { sources, fileProofs }: DeclarationInputs,
): Omit<Declared, 'kind'> | undefined {
  const all = contributions.map(({ value }) => value);
  const contenders = all.filter(({ refusal }) => refusal === undefined);
  // A source that may not declare this any more ends it by taking the document away.
  const refused = all.find(({ origin, refusal }) => refusal && origin.source === lastKnownGood?.origin.source);
  const election = elect(
    contenders,
    lastKnownGood?.origin,
    (source) => read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER,
    ({ source }) => provesAbsence(fileProofs.of(read, source)),
  );
  const winner = election.type === 'won' ? election.winner : undefined;
  const losers = contenders
    .filter((contender) => contender !== winner)
    .map(({ origin, identity }): DocumentRef => ({ ...origin, identity }));
  if (winner !== undefined) {
    const { origin, identity, value } = winner;
    return { ...value, origin, identity, isLastKnownGood: false, losers };
  }
  if (lastKnownGood === undefined || (election.type === 'none' && refused === undefined)) return undefined;
  const { namespace, name, value } = lastKnownGood;
  const known = { namespace, name, value, isLastKnownGood: true, losers };
  if (refused?.refusal === undefined) return { ...known, origin: lastKnownGood.origin, identity: '' };
  return { ...known, origin: refused.origin, identity: refused.identity, refusal: refused.refusal };
}

/** A change of a declaration. */
export interface DeclarationChange<Kind extends EngineKind = EngineKind> {
  /** The last known good value. */
  readonly before: DeclarationValues[Kind];
  readonly after: DeclarationValues[Kind];
  /** The status written last; undefined: none is known. */
  readonly observed: ObservedStatus | undefined;
}

/** Why a change is refused. */
export interface Refusal extends Hold {
  /** The value that is refused; absent: the whole document. */
  readonly field?: WrittenPath;
}

/** By kind: returns why a change is refused, or undefined. Pure. A refused declaration holds as last known good. */
export type Accepts = {
  readonly [Kind in EngineKind]?: (change: DeclarationChange<Kind>) => Refusal | undefined;
};

/**
 * Joins the domains' {@link Accepts}; the first refusal counts. Throws if a domain would refuse changes of a kind that does
 * not hold as last known good.
 */
export function joinAccepts(
  all: readonly (Accepts | undefined)[],
): (kind: EngineKind, change: DeclarationChange) => Refusal | undefined {
  for (const kind of all.flatMap((accepts) => Object.keys(accepts ?? {}))) {
    if (isEngineKind(kind) && engineKindRow(kind).holdsAsLastKnownGood) continue;
    throw new Error(`changes of ${kind} cannot be refused: it does not hold as last known good`);
  }
  return (kind, change) => {
    for (const accepts of all) {
      // The values of a change are of its kind.
      const refusal = (accepts?.[kind] as ((change: DeclarationChange) => Refusal | undefined) | undefined)?.(change);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
}

/** The declaration, or its last known good value if a domain refuses the change. */
function acceptedOr(
  { value: before }: LastKnownGood,
  declared: Declared,
  key: string,
  read: Reader,
  { observed, accepts }: DeclarationInputs,
): Declared {
  const { kind, isLastKnownGood, value: after } = declared;
  if (isLastKnownGood || structurallyEqual(before, after)) return declared;
  const refusal = accepts(kind, { before, after, observed: read.get(observed, kind, key) });
  return refusal === undefined
    ? declared
    : ({ ...declared, value: before, isLastKnownGood: true, refusal } as Declared);
}
