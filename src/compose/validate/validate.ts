import { Buffer } from 'node:buffer';
import { availableParallelism } from 'node:os';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import { type KubernetesVersion, newestKubernetesVersion } from '../../validation/kubernetes-schemas.ts';
import { type CheckedFile, checkFile } from './check-file.ts';
import { createBytesReader, type FileBytes, problemOf } from './file-bytes.ts';
import { type JudgedFile, reportOf } from './finish.ts';
import { type InputFile, type Inputs, listInputs, STDIN } from './inputs.ts';
import { type CheckSettings, createObjectChecks } from './object-checks.ts';
import type { ValidationReport, ValidationRequest } from './report.ts';
import { startThreads, type Threads } from './threads.ts';

/** From this number of files on, a second thread saves more time than it takes to start. */
const FILES_FOR_THREADS = 300;
const MAX_THREADS = 8;
const { maxBytes: MAX_BYTES } = defaultDecodeLimits;

/**
 * Checks manifests as an API server would under `--dry-run=server --validate=strict`. In a folder it checks every manifest
 * that the `.fleetrelayignore` of the folder does not exclude; a file that is named is checked in any case, and may be a
 * server's RelayConfig as well. A file that cannot be read is a diagnostic. Rejects with a text for people if the request
 * itself cannot be met, and with the signal's reason when it aborts.
 */
export async function validatePaths(request: ValidationRequest): Promise<ValidationReport> {
  const { paths, cwd, progress = () => undefined, signal = new AbortController().signal } = request;
  const inputs = await listInputs(paths, cwd, createBytesReader(), (found) => progress(found, undefined));
  const count = request.threads ?? threadsFor(inputs.files.length);
  const threads = startThreads({ count, progress, signal });
  try {
    return await judge(request, inputs, threads);
  } finally {
    await threads.close();
  }
}

function threadsFor(files: number): number {
  return files < FILES_FOR_THREADS ? 1 : Math.min(availableParallelism(), MAX_THREADS);
}

async function judge(request: ValidationRequest, inputs: Inputs, threads: Threads): Promise<ValidationReport> {
  const stdin = inputs.files.some(({ name }) => name === STDIN) ? await stdinOf(request) : undefined;
  const check = (files: readonly InputFile[], settings: CheckSettings) => checkAll(files, settings, threads, stdin);
  const settings = settingsOf(request);
  const files = [...(await check(inputs.files, settings))];
  await checkWaiting(files, settings, check);
  return reportOf({ request, inputs, files, stdin });
}

/** Checks the files that hold kinds without schema once more, with the schemas of custom kinds. */
async function checkWaiting(
  files: JudgedFile[],
  settings: CheckSettings,
  check: (files: readonly InputFile[], settings: CheckSettings) => Promise<readonly JudgedFile[]>,
): Promise<void> {
  const waiting = files.filter(({ checked }) => checked.waits);
  const definitions = waiting.length === 0 ? [] : files.flatMap(({ checked }) => checked.definitions);
  if (definitions.length === 0) return;
  const again = await check(
    waiting.map(({ file }) => file),
    { ...settings, definitions },
  );
  const places = new Map(files.map(({ file }, index) => [file, index] as const));
  for (const judged of again) files[places.get(judged.file) ?? 0] = judged;
}

async function checkAll(
  files: readonly InputFile[],
  settings: CheckSettings,
  threads: Threads,
  stdin: FileBytes | undefined,
): Promise<readonly JudgedFile[]> {
  const onDisk = files.filter(({ name }) => name !== STDIN);
  const found = new Map<InputFile, CheckedFile>();
  for (const [index, checked] of (await threads.check(onDisk, settings)).entries()) {
    const file = onDisk[index];
    if (file !== undefined) found.set(file, await asRelayConfig(file, checked));
  }
  return Promise.all(
    files.map(async (file) => {
      const checked = found.get(file) ?? checkFile(STDIN, stdin ?? NO_STDIN, await createObjectChecks(settings));
      return { file, checked };
    }),
  );
}

const NO_STDIN: FileBytes = { ok: false, reason: 'cannot be read: it was not given', isTooLarge: false };

/** Checks a named file as a RelayConfig if it is one. */
async function asRelayConfig({ name, location, isNamed }: InputFile, checked: CheckedFile): Promise<CheckedFile> {
  if (!isNamed || !checked.diagnostics.some(({ reason }) => reason === 'ServerConfigInRepository')) return checked;
  const content = createBytesReader()(location, true);
  if (!content.ok) return checked;
  const { decodeRelayConfig } = await import('../../manifest/relay-config.ts');
  return { ...checked, diagnostics: decodeRelayConfig(name, content.bytes).diagnostics };
}

async function stdinOf({ readStdin }: ValidationRequest): Promise<FileBytes> {
  try {
    const bytes = await readStdin(MAX_BYTES + 1);
    return { ok: true, bytes: Buffer.from(bytes) };
  } catch (error) {
    return { ok: false, reason: `cannot be read: ${problemOf(error)}`, isTooLarge: false };
  }
}

function settingsOf({ kubernetesVersions, strictKinds, ignoreMissingSchemas, skip = [] }: ValidationRequest) {
  const versions: readonly KubernetesVersion[] = kubernetesVersions ?? [newestKubernetesVersion];
  const withoutSchema = strictKinds === true ? 'error' : ignoreMissingSchemas === true ? 'nothing' : 'warning';
  return { versions, withoutSchema, skip, definitions: [] } satisfies CheckSettings;
}
