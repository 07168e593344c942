import { canonicalJson, isJsonObject, type JsonValue, parseJson, textOf } from '../text/json.ts';
import { ok, problem, type Result } from '../values/result.ts';

/** The first line of a recording. */
export interface RecordingHeader {
  readonly recording: 'fleetrelay';
  /** Of the form of a recording. */
  readonly form: 1;
  /** RFC 3339: when the state was taken. */
  readonly at: string;
  /** Of the program that took it. */
  readonly version: string;
  /** Empty: of no fleet. */
  readonly fleet: string;
  /** The admitted revisions of the sources. */
  readonly revisions: readonly { readonly source: string; readonly revision: string }[];
}

/** An entry of an input of the engine. */
export interface RecordedEntry {
  readonly input: string;
  readonly partition: string;
  readonly key: string;
  readonly value: JsonValue;
  /** Of a file: its blob. */
  readonly blob?: string;
}

/** An entry that the engine has computed, without contents of objects. */
export interface RecordedOutput {
  readonly collection: string;
  readonly partition: string;
  readonly key: string;
  /** Canonical JSON. */
  readonly text: string;
}

/** A line of a recording after the first one. `end`: the recording is complete. */
export type RecordedLine =
  | ({ readonly type: 'input' } & RecordedEntry)
  | ({ readonly type: 'output' } & RecordedOutput)
  | { readonly type: 'end' };

/** The admitted revisions of a recording by source. */
export function stateOf({ revisions }: Pick<RecordingHeader, 'revisions'>) {
  return { revisions: Object.fromEntries(revisions.map(({ source, revision }) => [source, revision])) };
}

/** The line of an entry, without its end. */
export function inputLine({ input, partition, key, value, blob }: RecordedEntry): string {
  return JSON.stringify(['in', input, partition, key, value, ...(blob === undefined ? [] : [blob])]);
}

/** The line of a computed entry, without its end. */
export function outputLine({ collection, partition, key, text }: RecordedOutput): string {
  return `["out",${JSON.stringify(collection)},${JSON.stringify(partition)},${JSON.stringify(key)},${text}]`;
}

/** The last line. */
export const END_LINE = '["end"]';

/** Parses the first line. */
export function parseHeader(line: string): Result<RecordingHeader> {
  const value = parseJson(line);
  if (!isJsonObject(value) || value.recording !== 'fleetrelay') return problem('is no recording of fleetrelay');
  if (value.form !== 1) return problem(`has the form ${JSON.stringify(value.form)}, and this version reads the form 1`);
  const revisions = Array.isArray(value.revisions) ? value.revisions : [];
  return ok({
    recording: 'fleetrelay',
    form: 1,
    at: textOf(value.at),
    version: textOf(value.version),
    fleet: textOf(value.fleet),
    revisions: revisions.flatMap((each) =>
      isJsonObject(each) ? [{ source: textOf(each.source), revision: textOf(each.revision) }] : [],
    ),
  });
}

/** Parses a line after the first one. The text of a computed entry is the canonical JSON that was written. */
export function parseLine(line: string): Result<RecordedLine> {
  const parts = parseJson(line);
  if (!Array.isArray(parts)) return problem('is no JSON list');
  const [type, name, partition, key, value, blob] = parts as readonly (JsonValue | undefined)[];
  if (type === 'end') return ok({ type: 'end' });
  if (typeof name !== 'string' || typeof partition !== 'string' || typeof key !== 'string' || value === undefined) {
    return problem('has not the parts of an entry');
  }
  if (type === 'in') {
    return ok({ type: 'input', input: name, partition, key, value, ...(typeof blob === 'string' ? { blob } : {}) });
  }
  if (type === 'out') return ok({ type: 'output', collection: name, partition, key, text: canonicalJson(value) });
  return problem(`has the unknown type ${JSON.stringify(type)}`);
}
