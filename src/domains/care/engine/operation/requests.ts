import type { Derived, Graph } from '../../../../engine/collections/types.ts';
import { type Declarations, type Declared, declaredOf } from '../../../../engine/fleet/declared.ts';
import { annotationOf } from '../../../../model/objects/object-key.ts';
import { sha256 } from '../../../../model/text/digest.ts';
import { canonicalJson, type JsonObject, objectOf } from '../../../../model/text/json.ts';
import type { LastOperation } from '../written-operation.ts';
import { hasJustBegun } from './machine.ts';
import type { OperationRequest } from './types.ts';

/** The annotation by which people ask for an operation. */
export const OPERATION_ANNOTATION = 'gardener.cloud/operation';

/** What the declaration of a Shoot asks for. Partition empty, key the Shoot's. */
export interface DeclaredRequest {
  /** Digest of the spec. */
  readonly spec: string;
  /** The value of {@link OPERATION_ANNOTATION}; empty: it has none. */
  readonly annotation: string;
}

/** What was answered, and what a person has asked for since. The shell stages and stores it. */
export type AnsweredRequest = DeclaredRequest & JsonObject & { readonly request?: OperationRequest };

/** Derives what declarations ask for. */
export function deriveDeclaredRequests(graph: Graph, declarations: Declarations): Derived<DeclaredRequest> {
  return graph.derive<Declared<'Shoot'>, DeclaredRequest>({
    name: 'requestsOfShoots',
    ...declaredOf(declarations, 'Shoot'),
    compute: ({ key, value: { value } }, _read, emit) => {
      const spec = sha256(canonicalJson(objectOf(value.spec)));
      emit('', key, { spec, annotation: annotationOf(value, OPERATION_ANNOTATION) });
    },
  });
}

/**
 * Whether an operation is asked for. An annotation counts once for each time that it appears: until it is answered.
 *
 * @param answered undefined: nothing is known. Then the spec counts as answered, and the annotation has just appeared.
 * @param last undefined: there was no operation, and one begins anyway
 */
export function isRequested(
  { spec, annotation }: DeclaredRequest,
  answered: AnsweredRequest | undefined,
  last: LastOperation | undefined,
): boolean {
  if (last === undefined) return false;
  if (answered !== undefined && answered.spec !== spec) return true;
  const asked = [answered?.request, annotation === answered?.annotation ? undefined : annotation];
  return asked.some((request) => (request === 'reconcile' || request === 'retry') && !isForOthers(request, last));
}

/** Whether such a request has no effect now. Source: Gardener's registry of Shoots. */
export function isForOthers(request: OperationRequest, { state }: Pick<LastOperation, 'state'>): boolean {
  return (request === 'retry') !== (state === 'Failed');
}

/**
 * What is answered now; undefined: nothing new. `begins`: an operation begins for another cause, and is asked for. A request is
 * answered only once the beginning of an operation is written, so that it survives a restart before.
 */
export function nextAnswer(
  { spec, annotation }: DeclaredRequest,
  answered: AnsweredRequest | undefined,
  last: LastOperation | undefined,
  begins?: OperationRequest,
): AnsweredRequest | undefined {
  if (answered === undefined) return { spec, annotation: '' };
  if (begins !== undefined && answered.request === undefined) return { ...answered, request: begins };
  const isOpen = answered.spec !== spec || answered.annotation !== annotation || answered.request !== undefined;
  if (isOpen && hasJustBegun(last)) return { spec, annotation };
  // A command is about the operation that there was.
  if (answered.request !== undefined && last !== undefined && isForOthers(answered.request, last)) {
    const { request: _, ...rest } = answered;
    return rest;
  }
  // The annotation is gone: it counts when it appears again.
  if (annotation === '' && answered.annotation !== '') return { ...answered, annotation };
  return undefined;
}
