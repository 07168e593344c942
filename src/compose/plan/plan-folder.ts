import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readWorkTreeChanges } from '../../adapters/git/work-tree.ts';
import type { Engine } from '../../engine/graph.ts';
import type { FileValue } from '../../engine/inputs.ts';
import type { FileReading, ObjectContent, SourceDocument } from '../../model/fleet/desired.ts';
import { displayLocation } from '../../model/fleet/diagnostic.ts';
import { quote } from '../../model/fleet/ids.ts';
import { stateOf } from '../../model/fleet/recording.ts';
import { mayBeSecret, withSecretValues } from '../../model/objects/secret-values.ts';
import type { PlanView, PlanWarning } from '../../model/plan/plan.ts';
import { isJsonObject, type JsonObject, jsonEquals } from '../../model/text/json.ts';
import { counted } from '../../model/text/messages.ts';
import { stageFile } from '../../runtime/replica/sources.ts';
import { systemDeps } from '../kube.ts';
import { type Checkout, readCheckout } from '../read-checkout.ts';
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
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Whether a path names a folder. */
export function isFolder({ cwd, path }: { readonly cwd: string; readonly path: string }): Promise<boolean> {
  return stat(resolve(cwd, path)).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Plans what a folder would do to the fleet of a recording. Rejects with a text for a person. */
export async function planFolder(request: FolderPlanRequest): Promise<PlanView> {
  const { folder, recording, source, cwd } = request;
  const opened =
    typeof recording === 'string'
      ? await openRecording(resolve(cwd, recording), recording)
      : await parseRecording(recording, 'the answer of the server');
  const { engine, header } = await loadRecording(opened, 'dropped');
  const name = chosenSource(engine, source);
  const checkout = await readCheckout(systemDeps(), resolve(cwd, folder));
  const recorded = new Map([...engine.inputs.files.entries(name)].map(({ key, value }) => [key, value]));
  const secrets = { unjudged: 0, known: recordedSecrets(engine, name) };
  const stage = (): void => {
    for (const path of recorded.keys()) if (!checkout.files.has(path)) stageFile(engine, name, path, null);
    for (const [path, { reading }] of checkout.files) {
      stageFile(engine, name, path, withRecordedSecrets(reading, secrets));
    }
  };
  const base = header.revisions.find((each) => each.source === name)?.revision ?? '';
  const about = {
    source: name,
    revision: 'worktree',
    at: header.at,
    state: stateOf(header),
    notJudged: [],
    findings: newFindings(checkout, recorded),
    warnings: await lacksBase(request, base),
    base,
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

/** The findings of files that differ from the recorded ones. */
function newFindings({ files, diagnostics }: Checkout, recorded: ReadonlyMap<string, FileValue>) {
  return diagnostics.filter(({ at }) => {
    const before = recorded.get(at?.path ?? '');
    const now = files.get(at?.path ?? '')?.reading;
    if (before === undefined || now === undefined || before.readable !== now.readable) return true;
    return !jsonEquals(before.findings, now.findings);
  });
}

/** Warns of a work tree without the admitted commit: the plan takes back what the source has got since. */
async function lacksBase({ folder, cwd, env }: FolderPlanRequest, base: string): Promise<readonly PlanWarning[]> {
  if (!/^[0-9a-f]{40,64}$/.test(base)) return [];
  const deps = { clock: systemDeps().clock, environment: env };
  const opened = await readWorkTreeChanges(deps, resolve(cwd, folder), base);
  if (opened.ok) opened.value.close();
  if (opened.ok && opened.value.from === base) return [];
  const message = `the work tree does not contain the admitted commit ${base.slice(0, 12)}, so the plan takes back what the source has got since: fetch and rebase first`;
  return [{ reason: 'LacksBase', message, clusters: [] }];
}

/** The recorded Secrets of a source by their identity: they may have moved to another file. */
function recordedSecrets({ inputs }: Engine, source: string): ReadonlyMap<string, ObjectContent> {
  const found = new Map<string, ObjectContent>();
  for (const { value } of inputs.files.entries(source)) {
    if (!value.readable) continue;
    for (const { identity, content } of value.documents) {
      if (content.type === 'object' && mayBeSecret(content.value)) found.set(identity, content);
    }
  }
  return found;
}

/** The reading with the recorded Secrets in the place of those that differ from them in values alone. */
function withRecordedSecrets(
  reading: FileReading,
  secrets: { readonly known: ReadonlyMap<string, ObjectContent>; unjudged: number },
): FileReading {
  if (!reading.readable) return reading;
  const documents = reading.documents.map((document): SourceDocument => {
    const { content, identity } = document;
    const other = secrets.known.get(identity);
    if (content.type !== 'object' || other === undefined) return document;
    if (!jsonEquals(shapeOf(content.value), shapeOf(other.value))) return document;
    secrets.unjudged += 1;
    return { ...document, content: other };
  });
  return { ...reading, documents };
}

/** A Secret without its values, with their names. */
function shapeOf(value: JsonObject): JsonObject {
  return withSecretValues(value, (found) =>
    isJsonObject(found) ? Object.fromEntries(Object.keys(found).map((name) => [name, ''])) : '',
  );
}
