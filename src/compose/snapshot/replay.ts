import { resolve } from 'node:path';
import { engineDomains } from '../../domains/engines.ts';
import { createGraph } from '../../engine/collections/graph.ts';
import { createEngine, type Engine } from '../../engine/graph.ts';
import { recordedOutputs, stagerOf } from '../../engine/recording.ts';
import type { RecordedOutput, RecordingHeader } from '../../model/fleet/recording.ts';
import { isKeyOfSecret, mayBeSecret } from '../../model/objects/secret-values.ts';
import { type FieldChange, fieldDiff } from '../../model/text/field-diff.ts';
import { isJsonObject, type JsonValue, objectOf, parseJson } from '../../model/text/json.ts';
import { type OpenedRecording, openRecording } from './read-recording.ts';

/** An entry that differs between what was recorded and what is computed, or between two recordings. */
export interface OutputDifference {
  readonly collection: string;
  readonly partition: string;
  readonly key: string;
  /** `missing`: only the first has it; `new`: only the second has it. */
  readonly what: 'missing' | 'new' | 'changed';
  /** Of a changed entry. */
  readonly fields: readonly FieldChange[];
}

/** What replaying a recording found. */
export interface Replay {
  readonly header: RecordingHeader;
  readonly inputs: number;
  readonly outputs: number;
  /** Inputs that this version does not have; their entries are left out. */
  readonly unknownInputs: readonly string[];
  /** In canonical order; empty: the same bytes. */
  readonly differences: readonly OutputDifference[];
  /** The number of differences that are not listed. */
  readonly more: number;
}

/** Most differences that are listed. */
const LISTED = 20;

/** An engine with the inputs of a recording, and what it had computed. */
export interface LoadedRecording {
  readonly header: RecordingHeader;
  readonly engine: Engine;
  readonly inputs: number;
  readonly unknownInputs: readonly string[];
  /** By {@link addressOf}; empty if it was not kept. */
  readonly outputs: ReadonlyMap<string, RecordedOutput>;
}

/** Loads a recording and commits its inputs. `outputs`: whether what was computed is kept. */
export async function loadRecording(
  { header, lines }: OpenedRecording,
  outputs: 'kept' | 'dropped',
): Promise<LoadedRecording> {
  const engine = createEngine(createGraph(), engineDomains);
  const stage = stagerOf(engine);
  const unknown = new Set<string>();
  const computed = new Map<string, RecordedOutput>();
  let inputs = 0;
  for await (const line of lines) {
    if (line.type === 'input') {
      if (stage(line)) inputs += 1;
      else unknown.add(line.input);
    } else if (line.type === 'output' && outputs === 'kept') {
      const { collection, partition, key, text } = line;
      computed.set(addressOf(line), { collection, partition, key, text });
    }
  }
  engine.commit();
  return { header, engine, inputs, unknownInputs: [...unknown], outputs: computed };
}

/** Computes a recording again, and compares with what its process has computed. Rejects with a text for a person. */
export async function replayRecording({ file, cwd }: { readonly file: string; readonly cwd: string }): Promise<Replay> {
  const opened = await openRecording(resolve(cwd, file), file);
  const { header, engine, inputs, unknownInputs, outputs } = await loadRecording(opened, 'kept');
  const found = compareOutputs(outputs, recordedOutputs(engine));
  return { header, inputs, outputs: outputs.size, unknownInputs, ...found };
}

/** What differs between two recordings: their inputs, and what was computed. */
export interface RecordingDiff {
  readonly before: RecordingHeader;
  readonly after: RecordingHeader;
  readonly differences: readonly OutputDifference[];
  readonly more: number;
}

/** Compares two recordings. Rejects with a text for a person. */
export async function diffRecordings(request: {
  readonly before: string;
  readonly after: string;
  readonly cwd: string;
}): Promise<RecordingDiff> {
  const [before, after] = await Promise.all([
    allEntries(request.before, request.cwd),
    allEntries(request.after, request.cwd),
  ]);
  const found = compareOutputs(before.entries, after.entries.values());
  return { before: before.header, after: after.header, ...found };
}

async function allEntries(file: string, cwd: string) {
  const { header, lines } = await openRecording(resolve(cwd, file), file);
  const entries = new Map<string, RecordedOutput>();
  for await (const line of lines) {
    if (line.type === 'end') continue;
    const { partition, key } = line;
    const entry =
      line.type === 'input'
        ? {
            collection: `input ${line.input}`,
            partition,
            key,
            text: JSON.stringify(withoutMasked(line.input, key, line.value)),
          }
        : { collection: line.collection, partition, key, text: textWithoutMasked(key, line.text) };
    entries.set(addressOf(entry), entry);
  }
  return { header, entries };
}

/** Each recording has a key of its own, so that masked values and digests of Secrets differ though nothing has changed. */
function withoutMasked(input: string, key: string, value: JsonValue): JsonValue {
  if (isKeyOfSecret(key)) return withoutDigests(value);
  const { documents } = objectOf(value);
  if (input !== 'files' || !Array.isArray(documents)) return value;
  const named = documents.map((document) => {
    const { content, identity } = objectOf(document);
    return mayBeSecret(objectOf(objectOf(content).value)) ? { identity: identity ?? '' } : document;
  });
  return { ...objectOf(value), documents: named };
}

function textWithoutMasked(key: string, text: string): string {
  return isKeyOfSecret(key) ? JSON.stringify(withoutDigests(parseJson(text) ?? null)) : text;
}

function withoutDigests(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const { digest: _digest, value: _value, object, ...rest } = value;
  return object === undefined ? rest : { ...rest, object: withoutDigests(object) };
}

function compareOutputs(
  before: ReadonlyMap<string, RecordedOutput>,
  after: Iterable<RecordedOutput>,
): Pick<Replay, 'differences' | 'more'> {
  const differences: OutputDifference[] = [];
  let all = 0;
  const add = ({ collection, partition, key }: RecordedOutput, what: OutputDifference['what'], fields = NONE): void => {
    all += 1;
    if (differences.length < LISTED) differences.push({ collection, partition, key, what, fields });
  };
  const seen = new Set<string>();
  for (const entry of after) {
    const address = addressOf(entry);
    const known = before.get(address);
    seen.add(address);
    if (known === undefined) add(entry, 'new');
    else if (known.text !== entry.text) add(entry, 'changed', changedFields(known.text, entry.text));
  }
  for (const [address, entry] of before) if (!seen.has(address)) add(entry, 'missing');
  return { differences, more: all - differences.length };
}

const NONE: readonly FieldChange[] = [];

function changedFields(before: string, after: string): readonly FieldChange[] {
  const [older = null, newer = null] = [parseJson(before), parseJson(after)];
  if (isJsonObject(older) && isJsonObject(newer)) return fieldDiff(older, newer);
  return [{ path: '', before: older, after: newer }];
}

function addressOf({ collection, partition, key }: Omit<RecordedOutput, 'text'>): string {
  return [collection, partition, key].join('\u0000');
}
