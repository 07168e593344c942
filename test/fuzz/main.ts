/** Fuzzes what reads bytes from outside: `npm run fuzz -- --seconds N [--target NAME] [--seed S]`; `--help` tells more. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { hooks } from './hooks.ts';
import { manifests } from './manifests.ts';
import { relay } from './relay.ts';
import { type FuzzFinding, replayInput, runFuzz } from './run-fuzz.ts';
import type { FuzzTarget } from './target.ts';

const USAGE = 'npm run fuzz -- --seconds N [--target relay|manifests|hooks] [--seed S] | --repeat FILE';
const HELP = `${USAGE}

Reads generated inputs, valid ones and changes of them, and checks that nothing fails unhandled, that every refusal has a
reason, that memory and steps are bounded, and that the sessions of other clusters go on. Prints the number of inputs.
The first finding of a target is made as small as possible and written to a file.

  --seconds N    time for each target (default: 10)
  --target NAME  relay (both ends), manifests (files, globs, ignore files) or hooks; all of them by default
  --seed S       the first seed (default: 1); the same seed plays the same inputs in the same order
  --repeat FILE  reads the input of such a file again

Exit code: 0 without a finding, 1 with one, 2 if the options are wrong.
`;
const PROGRESS_MS = 1_000;
const TARGETS: readonly FuzzTarget<unknown>[] = [relay, manifests, hooks];

const OPTIONS = {
  seconds: { type: 'string', default: '10' },
  target: { type: 'string' },
  seed: { type: 'string', default: '1' },
  repeat: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** A wrong option: exit code 2. */
function misused(sentence: string): never {
  process.stderr.write(`fuzz: ${sentence}\n${USAGE}\n`);
  return process.exit(2);
}

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    return misused(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  const isWhole = /^\d+$/.test(text) && value < 2 ** 31;
  return isWhole ? value : misused(`--${option} takes a whole number below 2147483648, not ${JSON.stringify(text)}`);
}

function targetsOf(name: string | undefined): readonly FuzzTarget<unknown>[] {
  const chosen = TARGETS.filter((target) => name === undefined || target.name === name);
  return chosen.length > 0 ? chosen : misused(`no target ${JSON.stringify(name)}`);
}

async function fuzz(target: FuzzTarget<unknown>, seed: number, seconds: number): Promise<boolean> {
  const began = performance.now();
  let told = began;
  const { inputs, finding } = await runFuzz(target, seed, (done) => {
    const now = performance.now();
    if (now - told >= PROGRESS_MS) {
      told = now;
      process.stderr.write(`${target.name}: ${done} inputs\n`);
    }
    return now - began < seconds * 1_000;
  });
  process.stdout.write(`${target.name}: ${inputs} inputs, seed ${seed}, ${finding === undefined ? 0 : 1} findings\n`);
  if (finding !== undefined) tell(target, finding);
  return finding === undefined;
}

function tell({ name }: FuzzTarget<unknown>, { input, error }: FuzzFinding): void {
  const file = join(mkdtempSync(join(tmpdir(), 'fuzz-')), `${name}.json`);
  writeFileSync(file, `${JSON.stringify({ target: name, input }, undefined, 2)}\n`);
  process.stdout.write(`${error}\n  the input: ${file}\n  to repeat it: npm run fuzz -- --repeat ${file}\n`);
}

async function repeat(file: string): Promise<boolean> {
  let saved: { readonly target?: string; readonly input?: unknown };
  try {
    saved = JSON.parse(readFileSync(file, 'utf8')) as typeof saved;
  } catch (error) {
    return misused(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  const [target] = targetsOf(saved.target ?? '');
  const finding = target && (await replayInput(target, saved.input));
  process.stdout.write(finding === undefined ? 'every property holds\n' : `${finding.error}\n`);
  return finding === undefined;
}

const values = readOptions();
if (values.help) process.stdout.write(HELP);
else if (values.repeat !== undefined) process.exitCode = (await repeat(values.repeat)) ? 0 : 1;
else {
  const [seed, seconds] = [wholeNumber('seed', values.seed), wholeNumber('seconds', values.seconds)];
  for (const target of targetsOf(values.target)) if (!(await fuzz(target, seed, seconds))) process.exitCode = 1;
}
