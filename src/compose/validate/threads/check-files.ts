import { errorText } from '../../../model/text/messages.ts';
import { type CheckedFile, checkFile, failedFile } from '../check-file.ts';
import { createBytesReader, type ReadBytes } from '../file-bytes.ts';
import { bytesOf, type InputFile } from '../inputs.ts';
import { type CheckSettings, createObjectChecks, type ObjectChecks } from '../schemas/object-checks.ts';

/** Files that several threads check together: plain data, shared by all of them. */
export interface CheckTask {
  readonly files: readonly InputFile[];
  readonly settings: CheckSettings;
  /** The index of the first file of this thread. */
  readonly first: number;
  /** One Int32: the index of the next file that no thread has taken. */
  readonly next: SharedArrayBuffer;
}

/** Findings of consecutive files, and the index of the first one. */
export interface CheckedFiles {
  readonly first: number;
  readonly checked: readonly CheckedFile[];
}

/** How many files a thread takes at a time. */
export const PORTION = 32;

/**
 * Takes portions of the task's files until none is left, and gives the findings of each portion to `done`, which may make
 * the next portion wait. Resolves with what could not be evaluated, as sentences.
 */
export async function checkFiles(
  { files, settings, first: own, next }: CheckTask,
  done: (checked: CheckedFiles) => void | Promise<void>,
): Promise<readonly string[]> {
  const read = createBytesReader();
  const checks = await createObjectChecks(settings);
  const counter = new Int32Array(next);
  for (let first = own; first < files.length; first = take(counter)) {
    const portion = files.slice(first, first + PORTION);
    const checked = portion.map((file) => checkInput(file, read, checks));
    await done({ first, checked });
  }
  return checks.notEvaluated();
}

/** A defect costs one file, as in a source. */
function checkInput(file: InputFile, read: ReadBytes, checks: ObjectChecks): CheckedFile {
  try {
    return checkFile(file.name, bytesOf(file, read), checks, file.resource);
  } catch (error) {
    const message = `cannot be checked, which is a defect of fleetrelay: ${errorText(error)}`;
    return failedFile(file.name, 'DecoderFailed', message);
  }
}

function take(counter: Int32Array): number {
  return Atomics.add(counter, 0, PORTION);
}
