/**
 * Shows what fleetrelay and an API server say to manifests, to write cases of the corpus:
 *
 *     KUBECONFIG=FILE node test/validation/try.ts [--all] [--write] [FILE ...]
 *
 * `--all` takes the complete corpus. `<--` marks what fleetrelay, the server and the expectation judge differently. Without
 * KUBECONFIG the server is not asked. Namespaces and CustomResourceDefinitions of the cases are created for real.
 * `--write` first replaces the lines `# want` of the files by the errors that fleetrelay reports now: read them all.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { displayDiagnostic } from '../../src/model/fleet/diagnostic.ts';
import { createDryRun } from '../support/kubernetes/dry-run.ts';
import {
  diagnosticsOfCase,
  errorsOf,
  placeOf,
  readValidationCase,
  type ValidationCase,
  validationCases,
} from '../support/validation-corpus.ts';

const { KUBECONFIG } = process.env;
const files = process.argv.slice(2).filter((word) => !word.startsWith('--') && !word.endsWith('.crd.yaml'));
if (process.argv.includes('--write')) files.forEach(writeWanted);
const cases: readonly ValidationCase[] = process.argv.includes('--all')
  ? [...validationCases('refused'), ...validationCases('accepted')]
  : files.map(readValidationCase);
const dryRun = KUBECONFIG === undefined ? undefined : await createDryRun(KUBECONFIG);
const counts = {
  entries: 0,
  'refused by both': 0,
  'only by us': 0,
  'only by the server': 0,
  'by neither': 0,
  marked: 0,
};

try {
  await dryRun?.prepare(cases);
  for (const each of cases) await show(each);
} finally {
  await dryRun?.close();
}
console.log(
  Object.entries(counts)
    .map(([name, count]) => `${name}: ${count}`)
    .join(', '),
);

async function show(each: ValidationCase): Promise<void> {
  const diagnostics = diagnosticsOfCase(each);
  const errors = errorsOf(diagnostics);
  const isExpected = errors.join() === each.wanted.join();
  console.log(`${each.name}${isExpected ? '' : ` <-- want ${each.wanted.join(', ') || 'no error'}`}`);
  for (const diagnostic of diagnostics) {
    const { at: _, ...rest } = diagnostic;
    console.log(`  ${placeOf(diagnostic)} ${displayDiagnostic(rest)}`);
  }
  counts.entries += 1;
  if (dryRun === undefined) return;
  const answer = await dryRun.send(each);
  const weRefuse = errors.length > 0;
  const isMarked = each.serverAccepts !== undefined;
  const isAgreed = answer.isRefused === (weRefuse && !isMarked);
  console.log(`  server: ${answer.isRefused ? answer.message : 'accepts'}${isAgreed ? '' : ' <-- differs'}`);
  if (weRefuse && answer.isRefused) counts['refused by both'] += 1;
  else if (weRefuse) counts[isMarked ? 'marked' : 'only by us'] += 1;
  else counts[answer.isRefused ? 'only by the server' : 'by neither'] += 1;
}

function writeWanted(file: string): void {
  const text = readFileSync(file, 'utf8').replaceAll(/^# want .*\n/gm, '');
  const errors = diagnosticsOfCase({ ...readValidationCase(file), bytes: Buffer.from(text) }).filter(
    ({ severity }) => severity === 'error',
  );
  const wanted = errors.map((error) => {
    const at = { path: file, ...error.at, line: (error.at?.line ?? 0) + errors.length };
    return `# want ${placeOf({ ...error, at })}\n`;
  });
  writeFileSync(file, wanted.join('') + text);
}
