/**
 * `npm run check`: every static check, one line each, all of them even after a failure; exit code 1 if any failed.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

interface Check {
  readonly name: string;
  readonly command: readonly string[];
}

interface Outcome {
  readonly ok: boolean;
  readonly output: string;
  readonly millis: number;
}

const project = join(import.meta.dirname, '..');
const module = (path: string): string => join(project, 'node_modules', path);

const CHECKS: readonly Check[] = [
  {
    name: 'format, lint, layers',
    command: [module('@biomejs/biome/bin/biome'), 'ci', '--colors=off', '--error-on-warnings', '.'],
  },
  { name: 'types', command: [module('typescript/bin/tsc'), '--pretty', 'false', '-p', '.'] },
  { name: 'unused code and dependencies', command: [module('knip/bin/knip.js'), '--no-progress'] },
  { name: 'generated code is up to date', command: ['scripts/generate.ts', '--check'] },
  { name: 'runs as it is written', command: ['scripts/check-loadable.ts'] },
];

const TIME_LIMIT_MS = 5 * 60_000;

function run({ command }: Check): Promise<Outcome> {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, command, { cwd: project, timeout: TIME_LIMIT_MS });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    const finish = (ok: boolean, note = ''): void => {
      const output = `${Buffer.concat(chunks).toString('utf8')}${note}`.trim();
      resolve({ ok, output, millis: performance.now() - started });
    };
    child.once('error', (error) => finish(false, error.message));
    child.once('close', (code, signal) => finish(code === 0, signal === null ? '' : `\nended by ${signal}`));
  });
}

let failures = 0;
// Side by side, since most of them use one processor; told in their order.
const outcomes = CHECKS.map((check) => ({ check, outcome: run(check) }));
for (const { check, outcome } of outcomes) {
  const { ok, output, millis } = await outcome;
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${check.name} (${(millis / 1000).toFixed(1)} s)`);
  if (ok) {
    // A check that could not do all of its work says so in a line with this word.
    for (const line of output.split('\n')) if (/\bskipped\b/.test(line)) console.log(`       ${line}`);
  } else {
    failures += 1;
    console.log(output.replaceAll(/^/gm, '       '));
  }
}
console.log(failures === 0 ? 'all checks passed' : `${failures} of ${CHECKS.length} checks failed`);
process.exitCode = failures === 0 ? 0 : 1;
