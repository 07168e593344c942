import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Engine } from '../../engine/graph.ts';
import type { FileValue } from '../../engine/inputs.ts';
import type { FileReading, SourceDocument } from '../../model/desired.ts';
import { displayLocation } from '../../model/diagnostic.ts';
import { quote } from '../../model/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from '../../model/json.ts';
import { counted } from '../../model/messages.ts';
import type { PlanView } from '../../model/plan/plan.ts';
import { stateOf } from '../../model/recording.ts';
import { stageFile } from '../../runtime/replica/sources.ts';
import { systemDeps } from '../kube.ts';
import { readCheckout } from '../read-checkout.ts';
import { openRecording, parseRecording } from '../snapshot/read-recording.ts';
import { loadRecording } from '../snapshot/replay.ts';
import { makePlan } from './make-plan.ts';

/** A folder to plan against a recorded state. */
export interface FolderPlanRequest {
  /** Relative to the working directory: what the source follows. */
  readonly folder: string;
  /** A file, relative to the working directory, or the bytes of a recording. */
  readonly recording: string | AsyncIterable<Uint8Array>;
  /** Absent: the only source. */
  readonly source?: string;
  readonly cwd: string;
}

/** Whether a path names a folder. */
export function isFolder({ cwd, path }: { readonly cwd: string; readonly path: string }): Promise<boolean> {
  return stat(resolve(cwd, path)).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Plans what a folder would do to the fleet of a recording. Rejects with a text for a person. */
export async function planFolder({ folder, recording, source, cwd }: FolderPlanRequest): Promise<PlanView> {
  const opened =
    typeof recording === 'string'
      ? await openRecording(resolve(cwd, recording), recording)
      : await parseRecording(recording, 'the answer of the server');
  const { engine, header } = await loadRecording(opened, 'dropped');
  const name = chosenSource(engine, source);
  const checkout = await readCheckout(systemDeps(), resolve(cwd, folder));
  const recorded = new Map([...engine.inputs.files.entries(name)].map(({ key, value }) => [key, value]));
  const secrets = { unjudged: 0 };
  const stage = (): void => {
    for (const path of recorded.keys()) if (!checkout.files.has(path)) stageFile(engine, name, path, null);
    for (const [path, { reading }] of checkout.files) {
      stageFile(engine, name, path, withRecordedSecrets(reading, recorded.get(path), secrets));
    }
  };
  const about = {
    ...{ source: name, revision: 'worktree', at: header.at, state: stateOf(header) },
    ...{ notJudged: [], findings: checkout.diagnostics },
    base: header.revisions.find((each) => each.source === name)?.revision ?? '',
  };
  const plan = await makePlan(engine, stage, about, {
    place: async ({ side, path, identity, field }) =>
      displayLocation(side === 'before' ? { path } : await checkout.locate(path, identity, field)),
  });
  return secrets.unjudged === 0 ? plan : { ...plan, notJudged: [...plan.notJudged, unjudgedSecrets(secrets.unjudged)] };
}

function chosenSource({ inputs }: Engine, wanted: string | undefined): string {
  const names = [...inputs.sources.entries('')].map(({ key }) => key);
  const [only] = names;
  if (wanted === undefined && only !== undefined && names.length === 1) return only;
  if (wanted !== undefined && names.includes(wanted)) return wanted;
  throw new Error(
    wanted === undefined
      ? `say with --source which source the folder is: ${names.join(', ')}`
      : `the recording has no source ${quote(wanted)}; it has ${names.join(', ')}`,
  );
}

function unjudgedSecrets(amount: number): string {
  return `whether the values of ${counted(amount, 'Secret')} change: a recording has only hashes of them`;
}

/** The reading with the recorded Secrets in the place of those that differ from them in values alone. */
function withRecordedSecrets(
  reading: FileReading,
  recorded: FileValue | undefined,
  secrets: { unjudged: number },
): FileReading {
  if (!reading.readable || recorded?.readable !== true) return reading;
  const known = new Map(recorded.documents.map(({ identity, content }) => [identity, content]));
  const documents = reading.documents.map((document): SourceDocument => {
    const { content } = document;
    const other = known.get(document.identity);
    if (content.type !== 'object' || other?.type !== 'object' || content.ref.kind !== 'Secret') return document;
    if (content.ref.group !== '' || !jsonEquals(shapeOf(content.value), shapeOf(other.value))) return document;
    secrets.unjudged += 1;
    return { ...document, content: other };
  });
  return { ...reading, documents };
}

/** A Secret without its values. */
function shapeOf(value: JsonObject): JsonObject {
  return { ...value, data: namesOf(value.data), stringData: namesOf(value.stringData) };
}

function namesOf(values: JsonValue | undefined): JsonValue | undefined {
  return isJsonObject(values) ? Object.fromEntries(Object.keys(values).map((name) => [name, ''])) : values;
}
