import { DRIFT_MODES, type DriftMode } from '../../model/fleet/drift.ts';
import { parseClusterName, parseDigest, parseFleetName, parseSourceName } from '../../model/fleet/ids.ts';
import type { OutputPosition } from '../../model/fleet/output.ts';
import { type ObjectKey, parseOutputKey } from '../../model/objects/object-key.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import { must, type Result } from '../../model/values/result.ts';
import type { InventoryRecord, InventoryState } from '../../ports/cluster-api.ts';

// Readers of stored JSON, which may be damaged. Each throws on a value of another shape.

export function asObject(value: unknown): JsonObject {
  if (!isJsonObject(value as JsonValue)) throw new Error('not an object');
  return value as JsonObject;
}

export function asList(value: JsonValue | undefined): readonly JsonValue[] {
  if (!Array.isArray(value)) throw new Error('not a list');
  return value;
}

export function asText(value: JsonValue | undefined): string {
  if (typeof value !== 'string') throw new Error('not text');
  return value;
}

export function parsed<Value>(parse: (text: string) => Result<Value>, value: JsonValue | undefined): Value {
  return must(parse(asText(value)));
}

export function asPosition(value: JsonValue | undefined): OutputPosition {
  const { epoch, sequence } = asObject(value);
  return { epoch: asCount(epoch), sequence: asCount(sequence) };
}

/** The state of an inventory without its settings. */
export function asInventoryState(value: unknown): Omit<InventoryState, 'settings'> {
  const { position, digest, revisions, admitted, tag, fleet } = asObject(value);
  return {
    position: asPosition(position),
    digest: parsed(parseDigest, digest),
    revisions: asList(revisions).map((item) => {
      const { source, revision } = asObject(item);
      return { source: parsed(parseSourceName, source), revision: asText(revision) };
    }),
    ...(admitted === undefined ? {} : { admitted: asPosition(admitted) }),
    ...(tag === undefined ? {} : { tag: asTag(tag) }),
    fleet: fleet === undefined ? undefined : parsed(parseFleetName, fleet),
  };
}

function asTag(value: JsonValue): string {
  const tag = asText(value);
  if (!/^(?:[0-9a-f]{64}){1,2}$/.test(tag)) throw new Error('not a tag');
  return tag;
}

export function asKeys(value: JsonValue | undefined): readonly ObjectKey[] {
  return asList(value).map((item) => parsed(parseOutputKey, item));
}

export function asInventoryRecord(value: JsonValue): InventoryRecord {
  const { key, digest, phase, origins, scope, stopped, attempt, driftMode, ...own } = asObject(value);
  const { nonce, rebuilt, givenUp, applied, identity } = own;
  if (phase !== 'held' && phase !== 'removing') throw new Error('not a phase');
  return {
    key: parsed(parseOutputKey, key),
    digest: parsed(parseDigest, digest),
    phase,
    origins: asList(origins).map((item) => {
      const origin = asObject(item);
      return { source: parsed(parseSourceName, origin.source), path: asText(origin.path) };
    }),
    scope: asList(scope).map((item) => parsed(parseClusterName, item)),
    ...(stopped === true ? { stopped } : {}),
    ...(attempt === undefined ? {} : { attempt: asCount(attempt) }),
    ...(driftMode === undefined ? {} : { driftMode: asDriftMode(driftMode) }),
    nonce: asText(nonce),
    ...(rebuilt === true ? { rebuilt } : {}),
    ...(givenUp === undefined ? {} : { givenUp: asObject(givenUp) }),
    ...(applied === true ? { applied } : {}),
    ...(identity === undefined ? {} : { identity: asText(identity) }),
  };
}

function asDriftMode(value: JsonValue): DriftMode {
  const mode = DRIFT_MODES.find((each) => each === value);
  if (mode === undefined) throw new Error('not a drift mode');
  return mode;
}

export function asCount(value: JsonValue | undefined): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw new Error('not a count');
  return value;
}
