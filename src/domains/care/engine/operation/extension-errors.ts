import type { Derived, Graph, Index, Reader } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { objectOf, textOf, textsOf } from '../../../../model/text/json.ts';
import { codesOfText } from '../../model/error-codes.ts';
import { controlPlaneOf, EXTENSION_GROUP } from '../extensions.ts';
import type { LastError } from '../written-operation.ts';
import { errorEntry } from './errors.ts';

/** More are not listed: `lastErrors` would cut them. */
const MOST_READ = 64;

/** Derives the errors of extension objects, by `CLUSTER/NAMESPACE` of the control plane. An error that has codes keeps them. */
export function deriveExtensionErrors(
  graph: Graph,
  { live }: Pick<EngineInputs, 'live'>,
): { readonly errors: Derived<LastError>; readonly byNamespace: Index<LastError> } {
  const errors = graph.derive<LiveObject, LastError>({
    name: 'errorsOfExtensions',
    from: live,
    keys: (key) => key.startsWith(`${EXTENSION_GROUP}/`),
    compute: ({ partition: cluster, key, value }, _read, emit) => {
      const { description, codes } = objectOf(objectOf(value.value.status).lastError);
      const text = textOf(description);
      const own = textsOf(codes);
      if (text === '' && own.length === 0) return;
      const { kind, namespace, name } = objectRefOf(key as ObjectKey);
      const task = [kind, namespace, name].filter((part) => part !== '').join('/');
      const why = `error during reconciliation: ${text}`;
      emit(cluster, key, errorEntry(task, why, own.length === 0 ? codesOfText(text) : own));
    },
  });
  const byNamespace = graph.index('errorsOfExtensionsByNamespace', errors, ({ partition: cluster, key }) => [
    `${cluster}/${controlPlaneOf(key as ObjectKey)}`,
  ]);
  return { errors, byNamespace };
}

/** The errors of the extension objects of a control plane. */
export function extensionErrorsOf(
  read: Pick<Reader, 'first'>,
  byNamespace: Index<LastError>,
  seed: string | undefined,
  namespace: string,
): readonly LastError[] {
  return seed === undefined ? [] : read.first(byNamespace, `${seed}/${namespace}`, MOST_READ).map(({ value }) => value);
}
