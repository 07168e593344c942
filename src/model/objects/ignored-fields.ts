import type { AgentSettings } from '../agent/agent-settings.ts';
import type { JsonObject } from '../text/json.ts';
import { annotationOf, kindOf, type ObjectKey } from './object-key.ts';

/** The annotation of a manifest that names fields between commas. */
const IGNORE_FIELDS = 'fleetrelay.dev/ignore-fields';

/** A field by the names that lead to it; through a list it means the field of each item. */
export type FieldNames = readonly string[];

const REPLICAS: FieldNames = ['spec', 'replicas'];

/** Fields of an object that others own by agreement: by the policy, by an annotation of the object, by an autoscaler. */
export function ignoredFields(
  { key, value }: { readonly key: ObjectKey; readonly value: JsonObject },
  settings: Pick<AgentSettings, 'ignoredFields'>,
  autoscaled: boolean,
): readonly FieldNames[] {
  const byPolicy = settings.ignoredFields.filter((ignored) => ignored.kind === kindOf(key));
  const annotated = annotationOf(value, IGNORE_FIELDS).split(',');
  const paths = [...byPolicy.flatMap(({ fields }) => fields), ...annotated]
    .map(parsePath)
    .filter((path) => path.length > 0);
  return autoscaled ? [...paths, REPLICAS] : paths;
}

/** `spec.replicas`; a dot that belongs to a name is written `\.`. */
function parsePath(text: string): FieldNames {
  const names = text
    .trim()
    .replace(/^\./, '')
    .split(/(?<!\\)\./);
  return names.map((name) => name.replaceAll('\\.', '.')).filter((name) => name !== '');
}
