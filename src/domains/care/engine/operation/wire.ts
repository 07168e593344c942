import type { Derived, Graph, Index, Input } from '../../../../engine/collections/types.ts';
import type { AfterProgress, DomainCore, DomainParts } from '../../../../engine/domain.ts';
import type { JsonValue } from '../../../../model/text/json.ts';
import type { BoundShoot } from '../binding.ts';
import { deriveOperationDeadlines } from './deadlines.ts';
import { deriveExtensionErrors } from './extension-errors.ts';
import { deriveGoneShoots } from './gone.ts';
import { deriveOperations, type OperationReads, type ShootOperation } from './operations.ts';
import { type AnsweredRequest, deriveDeclaredRequests } from './requests.ts';
import { deriveTries } from './tries.ts';

interface Given
  extends Pick<
    OperationReads,
    'bindings' | 'settings' | 'hibernated' | 'apiServer' | 'clusters' | 'agents' | 'snapshots'
  > {
  readonly byCluster: Index<BoundShoot>;
}

/** Wires the operations of Shoots: what comes before progress, and what follows from it. */
export function wireOperations(graph: Graph, { inputs, declarations }: DomainCore, given: Given) {
  const declaredRequests = deriveDeclaredRequests(graph, declarations);
  const answeredRequests = graph.input<AnsweredRequest>('answeredRequests');
  const { errors, byNamespace: extensionErrors } = deriveExtensionErrors(graph, inputs);
  const gone = deriveGoneShoots(graph, { ...inputs, ...given });
  const reads: OperationReads = { ...inputs, ...given, gone, declaredRequests, answeredRequests, extensionErrors };
  const tries = deriveTries(graph, reads);
  return {
    declaredRequests,
    answeredRequests,
    gone,
    tries,
    collections: [declaredRequests, errors, gone, tries] as readonly Derived<unknown>[],
    deadlines: deriveOperationDeadlines(graph, { ...reads, byCluster: given.byCluster }),
    inputs: {
      // The shell checks what it stages.
      answeredRequests: answeredRequests as unknown as Input<JsonValue>,
    } satisfies DomainParts['inputs'],
    /** Once, after progress. */
    derive: (after: AfterProgress): Derived<ShootOperation> => deriveOperations(graph, after, reads),
  };
}
