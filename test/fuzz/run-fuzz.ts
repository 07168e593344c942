import process from 'node:process';
import fc from 'fast-check';
import type { FuzzTarget } from './target.ts';

/** Inputs between two looks at the budget. */
const BATCH = 100;

/** An input that breaks a property, as small as it could be made. */
export interface FuzzFinding {
  readonly input: unknown;
  readonly error: string;
}

/** What became of a run. */
export interface FuzzOutcome {
  /** Inputs that were read, without those that only made a finding smaller. */
  readonly inputs: number;
  readonly finding: FuzzFinding | undefined;
}

/** Reads inputs of a target as long as `goesOn` allows it, in batches; ends at the first finding. */
export async function runFuzz<Input>(
  target: FuzzTarget<Input>,
  seed: number,
  goesOn: (inputs: number) => boolean,
): Promise<FuzzOutcome> {
  let inputs = 0;
  const property = fc.asyncProperty(target.inputs, (input) => checkInput(target, input));
  for (let batch = 0; goesOn(inputs); batch += 1) {
    const details = await fc.check(property, { seed: (seed + Math.imul(batch, 0x9e3779b1)) | 0, numRuns: BATCH });
    inputs += details.numRuns;
    if (!details.failed) continue;
    const [input] = details.counterexample ?? [];
    return { inputs, finding: { input, error: textOf(details.errorInstance) } };
  }
  return { inputs, finding: undefined };
}

/** Reads one input again; undefined: every property holds. */
export async function replayInput(target: FuzzTarget<unknown>, input: unknown): Promise<FuzzFinding | undefined> {
  try {
    await checkInput(target, input);
    return undefined;
  } catch (error) {
    return { input, error: textOf(error) };
  }
}

/** An exception or a rejection that nothing handles is a failure of the input during which it came. */
async function checkInput<Input>(target: FuzzTarget<Input>, input: Input): Promise<void> {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('uncaughtException', note).on('unhandledRejection', note);
  try {
    await target.check(input);
    // Node reports a rejection after the microtasks of its turn.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('uncaughtException', note).off('unhandledRejection', note);
  }
  if (unhandled.length > 0) throw new Error(`nothing handles: ${textOf(unhandled[0])}`);
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
