import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import { defaultRevisionLimits, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import { compareText } from '../../model/text/json.ts';
import { type KubernetesVersion, newestKubernetesVersion } from '../../validation/kubernetes-schemas.ts';
import type { ConfiguredSource } from '../configured-source.ts';
import { withFindingsAcross } from './across-files/across-files.ts';
import type { CheckedFile } from './check-file.ts';
import { createBytesReader } from './file-bytes.ts';
import { withForeignVerdicts } from './foreign.ts';
import { bytesOf, type InputFile, type Inputs, listInputs, pathInSource, STDIN, sourceRoot } from './inputs.ts';
import { reportOf } from './make-report.ts';
import type { ValidationReport, ValidationRequest } from './report.ts';
import { BeyondRevision, countChecked, countPlacements, countSteps } from './revision-limits.ts';
import type { CheckSettings } from './schemas/object-checks.ts';
import { createThreads, type Threads } from './threads/threads.ts';

/**
 * Checks manifests as an API server would under `--dry-run=server --validate=strict`. In a folder it checks every manifest
 * that the `.fleetrelayignore` of the folder does not exclude; a file that is named is checked in any case, and may be a
 * server's RelayConfig as well. A file that cannot be read is a diagnostic. Rejects with a text for people if the request
 * itself cannot be met.
 */
export async function validatePaths(request: ValidationRequest): Promise<ValidationReport> {
  const { progress = () => undefined } = request;
  if (request.cluster !== undefined || (request.schemaLocations ?? []).length > 0) {
    const { checkRequest } = await import('./check-request.ts');
    await checkRequest(request);
  }
  const source = request.config === undefined ? undefined : await readSource(request);
  const threads = createThreads({ count: request.threads, progress });
  try {
    const { repository, paths } = request;
    const named = repository === undefined ? paths : [repository];
    const inputs = await listInputs(
      { ...request, paths: named },
      createBytesReader(),
      source?.limits,
      async (found) => {
        progress(found, undefined);
        await threads.expect(found);
      },
    );
    const judged = await judgeFiles({ request, source, threads }, inputs).catch((error: unknown) => {
      if (!(error instanceof BeyondRevision)) throw error;
      const failed = [...inputs.failed, error.diagnostic];
      // The files are not reported one by one: most of them were not checked.
      return judgeFiles({ request, source, threads }, { ...inputs, files: [], failed });
    });
    return request.fix === true ? await mend({ request, source, threads }, inputs, judged) : judged.report;
  } finally {
    await threads.close();
  }
}

/** A finding can be hidden behind another one until that is mended. */
const MOST_ROUNDS = 10;

/** Applies fixes until no finding has one, and reports what they leave. */
async function mend(judging: Judging, inputs: Inputs, first: Judgement): Promise<ValidationReport> {
  const { mendFiles } = await import('./mend-files.ts');
  const fixed = new Map<string, number>();
  let { files } = inputs;
  let { report, checked } = first;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const mended = mendFiles(files, checked, report.diagnostics);
    if (mended.fixed.length === 0) break;
    for (const { path, findings } of mended.fixed) fixed.set(path, (fixed.get(path) ?? 0) + findings);
    ({ files } = mended);
    // What the fixes leave, and at other lines.
    ({ report, checked } = await judgeFiles(judging, { ...inputs, files }));
  }
  const stdin = files.find(({ name, bytes }) => name === STDIN && bytes !== undefined && isUtf8(bytes))?.bytes;
  return {
    ...report,
    fixed: [...fixed].map(([path, findings]) => ({ path, findings })).sort((a, b) => compareText(a.path, b.path)),
    ...(stdin === undefined ? {} : { fixedStdin: new TextDecoder('utf-8', { ignoreBOM: true }).decode(stdin) }),
  };
}

interface Judgement {
  readonly report: ValidationReport;
  /** Of the files of the inputs, in their order. */
  readonly checked: readonly CheckedFile[];
}

/** What every round of a run works with. */
interface Judging {
  readonly request: ValidationRequest;
  readonly source: ConfiguredSource | undefined;
  readonly threads: Threads;
}

async function readSource(request: ValidationRequest): Promise<ConfiguredSource | undefined> {
  const { configuredSource } = await import('../configured-source.ts');
  return configuredSource(request, request.cwd);
}

async function judgeFiles({ request, source, threads }: Judging, inputs: Inputs): Promise<Judgement> {
  const notEvaluated = new Set<string>();
  const check = async (
    files: readonly InputFile[],
    settings: CheckSettings,
    takeInOrder?: (checked: CheckedFile, index: number) => void,
  ): Promise<readonly CheckedFile[]> => {
    const found = await threads.check(files, settings, takeInOrder);
    for (const sentence of found.notEvaluated) notEvaluated.add(sentence);
    return found.files;
  };
  const settings = settingsOf(request, inputs);
  // A source is a folder: files that are named one by one are none.
  const isSource = inputs.ignoreFolders.length > 0;
  const first = await check(
    inputs.files,
    settings,
    isSource ? countChecked(inputs.files, source?.limits ?? defaultRevisionLimits) : undefined,
  );
  if (isSource) await countMatching(request, inputs, first, source?.limits ?? defaultRevisionLimits);
  const complete = await withCustomKinds(request, inputs.files, first, settings, check);
  // Threads take some time to end; fixes need them again.
  if (request.fix !== true) threads.end();
  const own = await Promise.all(complete.map((found, index) => asRelayConfig(found, inputs.files[index])));
  const alone = await withForeignVerdicts(inputs, own, request.cwd);
  const checked = settings.collectsFacts
    ? await withFindingsAcross(inputs, alone, { cwd: request.cwd, source })
    : alone;
  const all = { request, inputs, checked, notEvaluated };
  const isPart = request.since !== undefined || request.repository !== undefined;
  const part = isPart ? await partOf(request, inputs, checked, settings) : {};
  return { report: reportOf({ ...all, ...part }), checked };
}

/** Counts the steps of matching the files of a source before its Placements are matched. */
async function countMatching(
  { cwd }: ValidationRequest,
  { files, unread, claimed, ignoreFolders, ignoreSteps }: Inputs,
  checked: readonly CheckedFile[],
  limits: RevisionLimits,
): Promise<void> {
  const root = sourceRoot(ignoreFolders, cwd);
  const readFiles = files.flatMap(({ name, location, resource }, index) =>
    resource === undefined
      ? [{ path: pathInSource(root, location), name, declarations: checked[index]?.facts?.declarations ?? [] }]
      : [],
  );
  const unreadFiles = [...unread, ...claimed].map((location) => ({
    path: pathInSource(root, location),
    declarations: [],
  }));
  const nameOf = (path: string): string => readFiles.find((file) => file.path === path)?.name ?? path;
  await countPlacements([...readFiles, ...unreadFiles], ignoreSteps, limits, nameOf);
}

/** Checks files once more: those with kinds without schema by the schemas of custom kinds, policies for their expressions. */
async function withCustomKinds(
  request: ValidationRequest,
  files: readonly InputFile[],
  first: readonly CheckedFile[],
  settings: CheckSettings,
  check: (
    files: readonly InputFile[],
    settings: CheckSettings,
    takeInOrder?: (checked: CheckedFile, index: number) => void,
  ) => Promise<readonly CheckedFile[]>,
): Promise<readonly CheckedFile[]> {
  const waiting = files.filter((_, index) => first[index]?.waits === true);
  const isAsked = request.cluster !== undefined || (request.schemaLocations ?? []).length > 0;
  const isNamed = first.some(({ definitions, schemas }) => definitions.length + schemas.length > 0);
  const checksExpressions = first.some(({ hasExpressions }) => hasExpressions === true);
  if (waiting.length === 0 || !(isAsked || isNamed || checksExpressions)) return first;
  const { findCustomSchemas } = await import('./schemas/custom-schemas.ts');
  const custom = await findCustomSchemas(request, files, first, settings);
  const all = { ...settings, ...custom, checksExpressions };
  const again = (await check(waiting, all, countSteps(waiting))).values();
  return first.map((checked) => (checked.waits ? (again.next().value ?? checked) : checked));
}

/** The part that the request is about, and what depends on it. The modules for this are loaded only then. */
async function partOf(
  request: ValidationRequest,
  inputs: Inputs,
  checked: readonly CheckedFile[],
  settings: CheckSettings,
): Promise<{
  readonly inputs: Inputs;
  readonly checked: readonly CheckedFile[];
  readonly affected: ReadonlySet<InputFile>;
}> {
  const { affectedFiles, namedPart, readTouched, withFormerManifests } = await import('./since.ts');
  const touched = request.since === undefined ? namedPart(request) : await readTouched(request, inputs, settings);
  const isPart = ({ at }: Diagnostic): boolean =>
    touched.isEverything || (at !== undefined && touched.touches(resolve(request.cwd, at.path)));
  return {
    inputs: { ...inputs, refused: inputs.refused.filter(isPart) },
    checked: withFormerManifests(inputs, checked, touched),
    affected: affectedFiles(inputs, checked, touched, request.cwd),
  };
}

/** Checks a named file as a RelayConfig if it is one. */
async function asRelayConfig(checked: CheckedFile, file: InputFile | undefined): Promise<CheckedFile> {
  const isConfig = checked.diagnostics.some(({ reason }) => reason === 'ServerConfigInRepository');
  const content = isConfig && file?.isNamed === true ? bytesOf(file, createBytesReader()) : undefined;
  if (file === undefined || content?.ok !== true) return checked;
  const { decodeRelayConfig } = await import('../../manifest/relay-config.ts');
  return { ...checked, diagnostics: decodeRelayConfig(file.name, content.bytes).diagnostics };
}

function settingsOf(
  {
    kubernetesVersions,
    strictKinds,
    ignoreMissingSchemas,
    skip = [],
    since,
    fix = false,
    findsFixes = fix,
  }: ValidationRequest,
  { ignoreFolders }: Inputs,
) {
  const versions: readonly KubernetesVersion[] = kubernetesVersions ?? [newestKubernetesVersion];
  const withoutSchema = strictKinds === true ? 'error' : ignoreMissingSchemas === true ? 'nothing' : 'warning';
  const nothing = { definitions: [], located: [], named: [] };
  const collectsFacts = ignoreFolders.length > 0;
  const collectsReferences = since !== undefined;
  return {
    versions,
    withoutSchema,
    skip,
    ...nothing,
    findsFixes,
    collectsFacts,
    collectsReferences,
  } satisfies CheckSettings;
}
