import { printYaml } from '../../manifest/print-yaml.ts';
import { compareText, isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';

/**
 * The declared part of a custom resource, as the text of a manifest. Fields that an API server fills in and changes are left out:
 * the text changes exactly when the declaration does. Equal values give equal bytes.
 */
export function resourceText(value: JsonObject): Uint8Array {
  const { apiVersion, kind, metadata, status: _status, ...rest } = value;
  const declared = { apiVersion, kind, metadata: declaredMetadata(metadata), ...(inOrder(rest) as JsonObject) };
  return new TextEncoder().encode(printYaml(declared));
}

function declaredMetadata(metadata: JsonValue | undefined): JsonObject {
  const { name, namespace, labels, annotations, creationTimestamp, deletionTimestamp } = objectOf(metadata);
  return {
    ...given({ name, namespace, creationTimestamp }),
    // A deletion is a wish of a person, which the API server keeps while finalizers hold the object.
    ...given({ deletionTimestamp }),
    ...(isJsonObject(labels) ? { labels: inOrder(labels) } : {}),
    ...(isJsonObject(annotations) && Object.keys(annotations).length > 0 ? { annotations: inOrder(annotations) } : {}),
  };
}

function inOrder(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [[key, inOrder(member)] as const],
  );
  return Object.fromEntries(members.sort(([a], [b]) => compareText(a, b)));
}
